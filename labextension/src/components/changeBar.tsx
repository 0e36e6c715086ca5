/** What the agent changed and the person has not looked at yet: per cell a difference, keep or take back. */

import { caretDownIcon, caretRightIcon, checkIcon, undoIcon } from '@jupyterlab/ui-components';
import * as React from 'react';
import type { Conversation, ISnapshot } from '../client/conversation';
import { baseName } from '../view/format';
import { entriesToReview, IReviewEntry } from '../view/review';
import { Diff } from './diff';
import { IconButton } from './parts';
import { useServices } from './services';

export function ChangeBar(props: { conversation: Conversation; snapshot: ISnapshot }): JSX.Element | null {
  const { trans } = useServices();
  const { conversation, snapshot } = props;
  const [reviewed, settle] = useReviewed(conversation.id);
  const [open, setOpen] = React.useState(false);
  const entries = React.useMemo(() => entriesToReview(snapshot.view.turns, reviewed), [snapshot.view.turns, reviewed]);
  if (entries.length === 0) {
    return null;
  }
  const added = entries.reduce((sum, entry) => sum + entry.added, 0);
  const removed = entries.reduce((sum, entry) => sum + entry.removed, 0);
  const keep = (kept: readonly IReviewEntry[]): void => settle(kept.map(entry => entry.key));
  return (
    <section className="jp-agent-changes" aria-label={trans.__('Changes to review')}>
      <div className="jp-agent-changesHead">
        <button type="button" aria-expanded={open} onClick={() => setOpen(!open)}>
          {open ? <caretDownIcon.react tag="span" /> : <caretRightIcon.react tag="span" />}
          {trans._n('%1 change to review', '%1 changes to review', entries.length)}{' '}
          <Count added={added} removed={removed} />
        </button>
        <button type="button" className="jp-agent-button jp-mod-quiet" onClick={() => keep(entries)}>
          {trans.__('Keep all')}
        </button>
      </div>
      {open && (
        <ul>
          {entries.map(entry => (
            <Entry
              key={entry.key}
              entry={entry}
              keep={() => keep([entry])}
              // Undoing is refused by the server while the turn runs; the button says so instead of failing.
              takeBack={snapshot.running ? null : () => conversation.revert(entry.turn, entry.target, entry.cell)}
            />
          ))}
        </ul>
      )}
    </section>
  );
}

function Entry(props: { entry: IReviewEntry; keep: () => void; takeBack: (() => void) | null }): JSX.Element {
  const { trans, actions } = useServices();
  const { entry } = props;
  const [open, setOpen] = React.useState(false);
  const words = { created: trans.__('new'), deleted: trans.__('deleted'), changed: '' };
  return (
    <li>
      <div className="jp-agent-changeRow">
        <button type="button" className="jp-agent-changeName" aria-expanded={open} onClick={() => setOpen(!open)}>
          {open ? <caretDownIcon.react tag="span" /> : <caretRightIcon.react tag="span" />}
          <span className="jp-agent-changeText">
            {entry.cell ? (
              <>
                {trans.__('Cell')} <code>{entry.cell}</code> {words[entry.kind]}{' '}
                <span className="jp-agent-quiet">{baseName(entry.target)}</span>
              </>
            ) : (
              <>
                {baseName(entry.target)} {words[entry.kind]}
              </>
            )}
          </span>
          <Count added={entry.added} removed={entry.removed} />
        </button>
        {entry.cell && entry.kind !== 'deleted' && (
          <button type="button" className="jp-agent-link" onClick={() => actions.showCell(entry.target, entry.cell)}>
            {trans.__('Show')}
          </button>
        )}
        <IconButton icon={checkIcon} label={trans.__('Keep this change')} onClick={props.keep} />
        <IconButton
          icon={undoIcon}
          label={props.takeBack ? trans.__('Take this change back') : trans.__('Can be taken back when the turn has ended')}
          disabled={props.takeBack === null}
          onClick={() => props.takeBack?.()}
        />
      </div>
      {open && entry.diffs.map((diff, index) => <Diff key={index} text={diff} withNames={false} />)}
    </li>
  );
}

function Count(props: { added: number; removed: number }): JSX.Element {
  return (
    <span className="jp-agent-count">
      <span className="jp-mod-add">+{props.added}</span> <span className="jp-mod-remove">−{props.removed}</span>
    </span>
  );
}

/** Which changes were settled in this browser; apart from any undo stack, so that undoing never accepts (fault n18). */
function useReviewed(id: string): [ReadonlySet<string>, (keys: readonly string[]) => void] {
  const storageKey = `jupyter-agent:reviewed:${id}`;
  const [reviewed, setReviewed] = React.useState<ReadonlySet<string>>(() => read(storageKey));
  React.useEffect(() => {
    setReviewed(read(storageKey));
  }, [storageKey]);
  const settle = (keys: readonly string[]): void => {
    const next = new Set([...read(storageKey), ...keys]);
    try {
      window.localStorage.setItem(storageKey, JSON.stringify([...next].slice(-2000)));
    } catch {
      // A full storage only means that these show again after a reload.
    }
    setReviewed(next);
  };
  return [reviewed, settle];
}

function read(storageKey: string): ReadonlySet<string> {
  try {
    const stored: unknown = JSON.parse(window.localStorage.getItem(storageKey) ?? '[]');
    return new Set(Array.isArray(stored) ? (stored as string[]) : []);
  } catch {
    return new Set();
  }
}
