/** What waits for review: the changes of a conversation, one entry per cell or file, newest state last. Pure. */

import type { IChange } from '../protocol';
import { countDiff } from './diff';
import type { ITurn } from './state';

export interface IReviewEntry {
  key: string;
  turn: number;
  target: string;
  cell: string;
  /** Diffs in the order they were made. */
  diffs: readonly string[];
  added: number;
  removed: number;
  /** What happened: a cell or file appeared, vanished, or changed. */
  kind: 'created' | 'deleted' | 'changed';
}

/**
 * Entries of the turns after `reviewed`'s marks. A cell changed and changed back within a turn does not appear. `reviewed`
 * holds keys the person settled.
 */
export function entriesToReview(turns: readonly ITurn[], reviewed: ReadonlySet<string>): IReviewEntry[] {
  const entries: IReviewEntry[] = [];
  for (const turn of turns) {
    const groups = new Map<string, IChange[]>();
    for (const change of turn.changes) {
      const id = `${change.target}#${change.cell}`;
      groups.set(id, [...(groups.get(id) ?? []), change]);
    }
    for (const changes of groups.values()) {
      const entry = entryOf(turn.turn, changes);
      if (entry !== null && !reviewed.has(entry.key)) {
        entries.push(entry);
      }
    }
  }
  return entries;
}

function entryOf(turn: number, changes: readonly IChange[]): IReviewEntry | null {
  const first = changes[0]!;
  const last = changes[changes.length - 1]!;
  if (first.before === last.after) {
    return null;
  }
  const diffs = changes.map(change => change.diff).filter(diff => diff);
  let added = 0;
  let removed = 0;
  for (const diff of diffs) {
    const count = countDiff(diff);
    added += count.added;
    removed += count.removed;
  }
  const kind = !first.before ? 'created' : !last.after ? 'deleted' : 'changed';
  const key = `${turn}:${first.target}#${first.cell}:${last.seq}`;
  return { key, turn, target: first.target, cell: first.cell, diffs, added, removed, kind };
}
