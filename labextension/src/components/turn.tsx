/** One turn of the conversation: what was asked, what was done, how it ended. */

import { copyIcon, undoIcon } from '@jupyterlab/ui-components';
import * as React from 'react';
import type { Decision, IStop } from '../protocol';
import { clip } from '../view/format';
import { IApprovalState, isPending, Item, IReplyItem, IStreaming, ITurn, IUserItem, nextReply } from '../view/state';
import { Approval } from './approval';
import { Markdown } from './markdown';
import { Boundary, IconButton } from './parts';
import { useServices } from './services';
import { ToolCard } from './toolCard';

export interface ITurnActions {
  answer: (approval: IApprovalState, decision: Decision, reason: string) => void;
  restore: (turn: number) => void;
}

export const Turn = React.memo(function Turn(props: {
  turn: ITurn;
  streaming: IStreaming | null;
  /** Whether this turn is the one at work. */
  working: boolean;
  canRestore: boolean;
  actions: ITurnActions;
}): JSX.Element {
  const { turn, streaming } = props;
  const { trans } = useServices();
  const growing: IReplyItem | null = streaming && { kind: 'reply', key: nextReply(turn), model: '', ...streaming };
  const waiting = props.working && streaming === null && !waitsForPerson(turn);
  return (
    <section
      className="jp-agent-turn"
      aria-label={trans.__('Turn %1', String(turn.turn))}
      aria-busy={props.working}
      data-ended={turn.stop !== null}
    >
      {[...turn.items, ...(growing ? [growing] : [])].map((item, index) => (
        <Boundary key={item.key} message={trans.__('This part could not be drawn.')}>
          <Part item={item} first={index === 0} live={item === growing} {...props} />
        </Boundary>
      ))}
      {waiting && <Working />}
      {turn.stop && <Ending stop={turn.stop} />}
    </section>
  );
});

function waitsForPerson(turn: ITurn): boolean {
  return turn.items.some(
    item =>
      (item.kind === 'tool' && item.approvals.some(isPending)) || (item.kind === 'approval' && isPending(item.approval))
  );
}

function Part(props: {
  item: Item;
  first: boolean;
  /** Whether it is a reply that is still being written. */
  live: boolean;
  turn: ITurn;
  working: boolean;
  canRestore: boolean;
  actions: ITurnActions;
}): JSX.Element {
  const { item, actions, turn } = props;
  switch (item.kind) {
    case 'user':
      return (
        <UserMessage
          item={item}
          restore={props.first && props.canRestore && turn.stop !== null ? () => actions.restore(turn.turn) : null}
        />
      );
    case 'reply':
      return <Reply text={item.text} thinking={item.thinking} live={props.live} />;
    case 'tool':
      return <ToolCard tool={item} over={turn.stop !== null} answer={actions.answer} />;
    case 'approval':
      return (
        <Approval
          approval={item.approval}
          void={turn.stop !== null}
          answer={(decision, reason) => actions.answer(item.approval, decision, reason)}
        />
      );
    case 'note':
      return (
        <div className={`jp-agent-note jp-mod-${item.level}`} role={item.level === 'error' ? 'alert' : 'note'}>
          {item.text}
        </div>
      );
  }
}

const LONG_MESSAGE = 4000;

export function UserMessage(props: {
  item: Pick<IUserItem, 'text' | 'attachments'>;
  restore?: (() => void) | null;
  pending?: string;
}): JSX.Element {
  const { trans } = useServices();
  const { item } = props;
  const [all, setAll] = React.useState(false);
  const clipped = all ? { text: item.text, hidden: 0 } : clip(item.text, LONG_MESSAGE);
  return (
    <div className={`jp-agent-user ${props.pending ? 'jp-mod-pending' : ''}`}>
      <div className="jp-agent-userText">{clipped.text}</div>
      {clipped.hidden > 0 && (
        <button className="jp-agent-link" onClick={() => setAll(true)}>
          {trans.__('Show all (%1 more characters)', clipped.hidden.toLocaleString())}
        </button>
      )}
      {item.attachments.some(attachment => attachment.kind !== 'state') && (
        <div className="jp-agent-chips">
          {item.attachments
            .filter(attachment => (attachment as { type: string }).type !== 'state')
            .map((attachment, index) => (
              <span key={index} className="jp-agent-chip" title={attachment.text?.slice(0, 500)}>
                {attachment.name || trans.__('Image')}
              </span>
            ))}
        </div>
      )}
      {props.pending && <div className="jp-agent-quiet">{props.pending}</div>}
      {props.restore && (
        <IconButton
          icon={undoIcon}
          className="jp-agent-restore"
          label={trans.__('Restore to here: take back what this turn and later ones changed')}
          onClick={props.restore}
        />
      )}
    </div>
  );
}

const Reply = React.memo(function Reply(props: { text: string; thinking: string; live: boolean }): JSX.Element {
  const { trans, options } = useServices();
  return (
    <div className={`jp-agent-reply ${props.live ? 'jp-mod-live' : ''}`}>
      {props.thinking && options.showThinking && (
        <details className="jp-agent-thinking">
          <summary>{props.live && !props.text ? trans.__('Thinking…') : trans.__('Thoughts')}</summary>
          <div>{props.thinking}</div>
        </details>
      )}
      {props.text && <Markdown source={props.text} />}
      {!props.live && props.text && (
        <IconButton
          icon={copyIcon}
          className="jp-agent-copy"
          label={trans.__('Copy the reply')}
          onClick={() => void navigator.clipboard.writeText(props.text)}
        />
      )}
    </div>
  );
});

function Working(): JSX.Element {
  const { trans } = useServices();
  return (
    <div className="jp-agent-working" role="img" aria-label={trans.__('The agent is working')}>
      <span />
      <span />
      <span />
    </div>
  );
}

function Ending(props: { stop: IStop }): JSX.Element | null {
  const { trans } = useServices();
  const { reason, verified, summary } = props.stop;
  const reasons = {
    done: '',
    limit: trans.__('A limit was reached'),
    stopped: trans.__('Stopped'),
    denied: trans.__('Ended after a no'),
    error: trans.__('Ended with an error')
  };
  const proofs = {
    proven: trans.__('Verified in a fresh kernel'),
    unproven: trans.__('Not verified'),
    failed: trans.__('Verification failed'),
    none: ''
  };
  if (!reasons[reason] && !proofs[verified]) {
    return null;
  }
  return (
    <div className={`jp-agent-ending jp-mod-${reason}`}>
      {reasons[reason] && <span className="jp-agent-endingReason">{reasons[reason]}</span>}
      {proofs[verified] && <span className={`jp-agent-proof jp-mod-${verified}`}>{proofs[verified]}</span>}
      {summary && <span className="jp-agent-quiet">{summary}</span>}
    </div>
  );
}
