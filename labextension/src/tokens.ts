import { Token } from '@lumino/coreutils';
import type { Api } from './client/api';
import type { IDraft } from './components/composer';
import type { WorkContext } from './context';

/** The agent's panel, for other parts of the front end. */
export interface IAgentPanel {
  /** Shows the panel with a draft; `send` sends it at once. */
  compose(draft: IDraft, send: boolean): void;
  readonly work: WorkContext;
  readonly api: Api;
}

export const IAgentPanel = new Token<IAgentPanel>(
  'jupyter-agent-live:IAgentPanel',
  'Shows the agent with a prepared message.'
);
