/** The panel before the first message. */

import * as React from 'react';
import type { IModels } from '../protocol';
import { agentIcon } from './icons';
import { useServices } from './services';

export function Empty(props: { models: IModels | null; onPick: (text: string) => void }): JSX.Element {
  const { trans, work, store } = useServices();
  const { models } = props;
  const [notebook, setNotebook] = React.useState(work.notebook);
  React.useEffect(() => {
    const update = (): void => setNotebook(work.notebook);
    work.changed.connect(update);
    return () => {
      work.changed.disconnect(update);
    };
  }, [work]);
  const ideas = notebook
    ? [
        trans.__('Explain what this notebook does'),
        trans.__('Find and fix the first cell that fails'),
        trans.__('Tidy this notebook and prove that its results stay the same')
      ]
    : [trans.__('Explain the files in this folder'), trans.__('Start a notebook that reads a data file here')];
  return (
    <div className="jp-agent-empty">
      <agentIcon.react tag="div" className="jp-agent-emptyIcon" />
      <h3>{trans.__('What shall we work on?')}</h3>
      <p className="jp-agent-quiet">
        {trans.__('It reads, edits and runs in your live kernel. Nothing changes before you have seen it.')}
      </p>
      {models?.advice && <Advice advice={models.advice} />}
      {models?.offer && (
        <div className="jp-agent-card">
          <p>{trans.__('A model server answers on this machine at %1.', models.offer)}</p>
          <p className="jp-agent-quiet">
            {trans.__('On a shared machine anyone could run it. Your cells and outputs would be sent there.')}
          </p>
          <button type="button" className="jp-agent-button jp-mod-accept" onClick={() => void store.acceptOffer(models.offer)}>
            {trans.__('Use it')}
          </button>
        </div>
      )}
      <ul className="jp-agent-ideas">
        {ideas.map(idea => (
          <li key={idea}>
            <button type="button" onClick={() => props.onPick(idea)}>
              {idea}
            </button>
          </li>
        ))}
      </ul>
    </div>
  );
}

function Advice(props: { advice: string }): JSX.Element {
  const { trans, store } = useServices();
  return (
    <div className="jp-agent-card" role="note">
      {props.advice.split('\n').map((line, index) => (
        <p key={index}>{line}</p>
      ))}
      <button type="button" className="jp-agent-button" onClick={() => void store.refreshModels()}>
        {trans.__('Look again')}
      </button>
    </div>
  );
}
