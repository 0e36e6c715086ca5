import assert from 'node:assert/strict';
import test from 'node:test';
import { splices } from '../src/document/splice';

function apply(before: string, after: string): string {
  let text = before;
  for (const splice of splices(before, after)) {
    text = text.slice(0, splice.start) + splice.text + text.slice(splice.end);
  }
  return text;
}

test('splices turn one text into the other, for random texts', () => {
  let seed = 7;
  const random = (below: number): number => {
    seed = (seed * 1103515245 + 12345) % 2147483648;
    return seed % below;
  };
  const alphabet = ['a', 'b', '\n', '\n', '😀', '😁', 'é'];
  const text = (): string => Array.from({ length: random(40) }, () => alphabet[random(alphabet.length)]).join('');
  for (let round = 0; round < 3000; round++) {
    const [before, after] = [text(), text()];
    assert.equal(apply(before, after), after);
  }
});

test('two distant changes leave the lines between them alone', () => {
  const before = 'a = 1\nuser is here\nb = 2\n';
  const found = splices(before, 'a = 10\nuser is here\nb = 20\n');
  assert.equal(found.length, 2);
  assert.ok(found.every(splice => splice.end - splice.start === 0 && splice.text === '0'));
});

test('a surrogate pair is never cut', () => {
  for (const splice of splices('x😀y', 'x😁y')) {
    assert.equal(splice.text, '😁');
    assert.equal('x😀y'.slice(splice.start, splice.end), '😀');
  }
});

test('a rewrite of thousands of lines is one replacement, quickly', () => {
  const before = Array.from({ length: 5000 }, (_, n) => `old ${n}`).join('\n');
  const after = Array.from({ length: 5000 }, (_, n) => `new ${n}`).join('\n');
  const begun = Date.now();
  assert.equal(apply(before, after), after);
  assert.ok(Date.now() - begun < 1000);
});
