/** Earlier conversations, with search. */

import { closeIcon, deleteIcon } from '@jupyterlab/ui-components';
import { Time } from '@jupyterlab/coreutils';
import * as React from 'react';
import type { IConversationEntry } from '../protocol';
import { baseName } from '../view/format';
import { IconButton } from './parts';
import { useServices } from './services';

export function History(props: {
  entries: readonly IConversationEntry[] | null;
  current: string;
  onClose: () => void;
}): JSX.Element {
  const { trans, store } = useServices();
  const [query, setQuery] = React.useState('');
  const field = React.useRef<HTMLInputElement>(null);
  React.useEffect(() => {
    field.current?.focus();
  }, []);
  React.useEffect(() => {
    const timer = window.setTimeout(() => void store.loadHistory(query), query ? 200 : 0);
    return () => {
      window.clearTimeout(timer);
    };
  }, [query, store]);
  return (
    <section
      className="jp-agent-history"
      aria-label={trans.__('Earlier conversations')}
      onKeyDown={event => {
        if (event.key === 'Escape') {
          props.onClose();
        }
      }}
    >
      <div className="jp-agent-historySearch">
        <input
          ref={field}
          className="jp-agent-input"
          type="search"
          value={query}
          placeholder={trans.__('Search conversations')}
          aria-label={trans.__('Search conversations')}
          onChange={event => setQuery(event.target.value)}
        />
        <IconButton icon={closeIcon} label={trans.__('Close the list')} onClick={props.onClose} />
      </div>
      <ul>
        {(props.entries ?? []).map(entry => (
          <Entry key={entry.id} entry={entry} current={entry.id === props.current} onClose={props.onClose} />
        ))}
      </ul>
      {props.entries?.length === 0 && <p className="jp-agent-quiet">{trans.__('Nothing found.')}</p>}
    </section>
  );
}

function Entry(props: { entry: IConversationEntry; current: boolean; onClose: () => void }): JSX.Element {
  const { trans, store } = useServices();
  const { entry } = props;
  const [sure, setSure] = React.useState(false);
  return (
    <li className={props.current ? 'jp-mod-current' : ''}>
      <button
        type="button"
        aria-current={props.current}
        onClick={() => {
          store.open(entry.id);
          props.onClose();
        }}
      >
        <span className="jp-agent-historyTitle">{entry.title || trans.__('Untitled')}</span>
        <span className="jp-agent-quiet">
          {entry.running ? `${trans.__('working')} · ` : ''}
          {entry.notebook ? `${baseName(entry.notebook)} · ` : ''}
          {Time.formatHuman(new Date(entry.updated * 1000))}
        </span>
      </button>
      {sure ? (
        <button type="button" className="jp-agent-button jp-mod-reject" onClick={() => void store.remove(entry.id)}>
          {trans.__('Delete for good')}
        </button>
      ) : (
        <IconButton icon={deleteIcon} label={trans.__('Delete %1', entry.title)} onClick={() => setSure(true)} />
      )}
    </li>
  );
}
