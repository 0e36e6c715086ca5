/** Getting a list from one order into another with the fewest moves. Pure. */

export interface IMove {
  id: string;
  from: number;
  to: number;
}

/**
 * Moves, one after the other, that bring `before` into the order of `after`; both hold the same ids. Ids in `stay` are
 * moved only when they must be.
 */
export function moves(before: readonly string[], after: readonly string[], stay: ReadonlySet<string>): IMove[] {
  const keep = new Set(longestKept(before, after, stay));
  const list = before.slice();
  const result: IMove[] = [];
  for (let place = 0; place < after.length; place++) {
    const id = after[place]!;
    if (list[place] === id) {
      continue;
    }
    if (keep.has(id)) {
      // What stands before a kept id and does not belong there goes to where it belongs, behind.
      while (list[place] !== id) {
        const wrong = list[place]!;
        const to = targetOf(wrong, list, after, keep);
        result.push({ id: wrong, from: place, to });
        list.splice(to, 0, list.splice(place, 1)[0]!);
      }
      continue;
    }
    const from = list.indexOf(id);
    result.push({ id, from, to: place });
    list.splice(place, 0, list.splice(from, 1)[0]!);
  }
  return result;
}

/** Ids that came, went or were moved, between two states of a list. */
export function placedAnew(before: readonly string[], after: readonly string[]): string[] {
  const [old, present] = [new Set(before), new Set(after)];
  const stayed = before.filter(id => present.has(id));
  const moved = moves(stayed, after.filter(id => old.has(id)), new Set());
  return [...after.filter(id => !old.has(id)), ...before.filter(id => !present.has(id)), ...moved.map(move => move.id)];
}

/** Where `id` goes among what is there: right behind the nearest id that precedes it in `after` and stands behind it now. */
function targetOf(id: string, list: readonly string[], after: readonly string[], keep: ReadonlySet<string>): number {
  for (let place = after.indexOf(id) - 1; place >= 0; place--) {
    const anchor = after[place]!;
    if (keep.has(anchor) && list.indexOf(anchor) > list.indexOf(id)) {
      return list.indexOf(anchor);
    }
  }
  return list.length - 1;
}

/** The heaviest common subsequence of ids: ids in `stay` weigh most. */
function longestKept(before: readonly string[], after: readonly string[], stay: ReadonlySet<string>): string[] {
  const place = new Map(after.map((id, index) => [id, index]));
  const places = before.map(id => place.get(id)!);
  const isSorted = places.every((value, index) => index === 0 || places[index - 1]! < value);
  if (isSorted) {
    return before.slice();
  }
  const weight: number[] = [];
  const previous: number[] = [];
  let best = -1;
  for (let index = 0; index < places.length; index++) {
    weight[index] = 0;
    previous[index] = -1;
    for (let earlier = Math.max(0, index - 3000); earlier < index; earlier++) {
      if (places[earlier]! < places[index]! && weight[earlier]! > weight[index]!) {
        weight[index] = weight[earlier]!;
        previous[index] = earlier;
      }
    }
    weight[index]! += stay.has(before[index]!) ? before.length + 1 : 1;
    best = best < 0 || weight[index]! > weight[best]! ? index : best;
  }
  const kept: string[] = [];
  for (let index = best; index >= 0; index = previous[index]!) {
    kept.unshift(before[index]!);
  }
  return kept;
}
