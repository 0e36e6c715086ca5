import assert from 'node:assert/strict';
import test from 'node:test';
import { moves, placedAnew } from '../src/document/order';

function apply(before: readonly string[], after: readonly string[], stay: ReadonlySet<string> = new Set()): { list: string[]; moved: string[] } {
  const list = before.slice();
  const moved: string[] = [];
  for (const { from, to } of moves(before, after, stay)) {
    moved.push(list[from]!);
    list.splice(to, 0, list.splice(from, 1)[0]!);
  }
  return { list, moved };
}

test('moves give the wanted order, for random orders', () => {
  let seed = 3;
  const random = (below: number): number => {
    seed = (seed * 1103515245 + 12345) % 2147483648;
    return seed % below;
  };
  for (let round = 0; round < 3000; round++) {
    const before = Array.from({ length: random(9) }, (_, n) => `c${n}`);
    const after = before.slice();
    for (let n = after.length - 1; n > 0; n--) {
      const other = random(n + 1);
      [after[n], after[other]] = [after[other]!, after[n]!];
    }
    assert.deepEqual(apply(before, after).list, after);
  }
});

test('one cell moved is one move', () => {
  assert.deepEqual(apply(['a', 'b', 'c', 'd'], ['b', 'c', 'd', 'a']).moved, ['a']);
  assert.deepEqual(apply(['a', 'b', 'c', 'd'], ['d', 'a', 'b', 'c']).moved, ['d']);
  assert.deepEqual(moves(['a', 'b'], ['a', 'b'], new Set()), []);
});

test('the cell the person is in is not the one that moves', () => {
  const { list, moved } = apply(['a', 'b'], ['b', 'a'], new Set(['a']));
  assert.deepEqual(list, ['b', 'a']);
  assert.deepEqual(moved, ['b']);
  assert.deepEqual(apply(['a', 'b'], ['b', 'a'], new Set(['b'])).moved, ['a']);
});

test('what came, went or moved is told', () => {
  assert.deepEqual(placedAnew(['a', 'b', 'c'], ['b', 'c', 'a']), ['a']);
  assert.deepEqual(placedAnew(['a', 'b', 'c'], ['a', 'd', 'c']), ['d', 'b']);
  assert.deepEqual(placedAnew(['a', 'b'], ['a', 'b']), []);
});
