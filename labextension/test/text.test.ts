import assert from 'node:assert/strict';
import test from 'node:test';
import { countDiff, isDiff, parseDiff } from '../src/view/diff';
import { clip, compactNumber, duration, money } from '../src/view/format';
import { escapeHtml, holdsMath, isHarmlessDiagram, prepareMarkdown, splitBlocks } from '../src/view/markdown';
import { rank, triggerAt } from '../src/view/mentions';

test('raw HTML becomes text, code does not change', () => {
  assert.equal(escapeHtml('a <b>x</b> 1 < 2'), 'a &lt;b>x&lt;/b> 1 < 2');
  assert.equal(escapeHtml('`<b>` and ``<i>`` <u>'), '`<b>` and ``<i>`` &lt;u>');
  assert.equal(escapeHtml('```html\n<b>\n```\n<b>'), '```html\n<b>\n```\n&lt;b>');
  assert.equal(escapeHtml('<https://a.example> <javascript:x>'), '<https://a.example> &lt;javascript:x>');
  assert.equal(escapeHtml('` <img src=x>\n\n`'), '` &lt;img src=x>\n\n`');
  assert.equal(escapeHtml('<!-- c -->'), '&lt;!-- c -->');
});

test('a diagram that could load something is shown as text (f76)', () => {
  const harmless = '```mermaid\ngraph TD\nA[Load] -->|ok| B[(Store)]\n```';
  assert.equal(prepareMarkdown(harmless), harmless);
  for (const label of ['<img src=x>', '#lt;img', '&lt;', '@{ img: "x" }', '%%{init: {}}%%', 'click A href "x"']) {
    assert.ok(!isHarmlessDiagram(label), label);
    assert.ok(prepareMarkdown('a\n```mermaid\n' + label + '\n```\nb').startsWith('a\n```text\n'), label);
    assert.ok(prepareMarkdown('~~~ Mermaid x\n' + label).startsWith('~~~ text\n'), label);
  }
});

test('a growing reply is cut at blank lines, never inside a fence or a list', () => {
  assert.deepEqual(splitBlocks('a\nb\n\nc'), ['a\nb', 'c']);
  assert.deepEqual(splitBlocks('```\nx\n\ny\n```\n\nz'), ['```\nx\n\ny\n```', 'z']);
  assert.deepEqual(splitBlocks('- a\n\n- b\n\n  more\n\ntext'), ['- a\n\n- b\n\n  more', 'text']);
  assert.deepEqual(splitBlocks('```\nunclosed\n\nstill'), ['```\nunclosed\n\nstill']);
});

test('only what may hold maths is typeset', () => {
  for (const source of ['$x$', '$$\nx\n$$', '\\(x\\)', '\\\\[x\\\\]', '\\begin{align}x\\end{align}', 'see \\eqref{a}']) {
    assert.ok(holdsMath(source), source);
  }
  assert.ok(!holdsMath('a (b) [c] \\n {d} `begin`'));
});

test('a diff is read with line numbers on both sides', () => {
  const diff = '--- a/nb.ipynb cell x\n+++ b/nb.ipynb cell x\n@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n\\ No newline at end of file\n';
  const lines = parseDiff(diff);
  assert.deepEqual(lines.map(line => line.kind), ['file', 'hunk', 'same', 'remove', 'add', 'same', 'note']);
  assert.deepEqual([lines[3]!.old, lines[4]!.new], [2, 2]);
  assert.deepEqual(countDiff(diff), { added: 1, removed: 1 });
  assert.ok(isDiff(diff));
  assert.ok(!isDiff('print(1)'));
});

test('removed lines that look like a file header stay removed lines', () => {
  const lines = parseDiff('--- a/x\n+++ b/x\n@@ -1,2 +1,1 @@\n--- old\n same\n');
  assert.deepEqual(lines.map(line => line.kind), ['file', 'hunk', 'remove', 'same']);
});

test('numbers as a person reads them', () => {
  assert.deepEqual([950, 1234, 45600, 1_000_000].map(compactNumber), ['950', '1.2k', '46k', '1M']);
  assert.deepEqual([0, 0.0042, 1.5].map(money), ['$0', '$0.004', '$1.50']);
  assert.deepEqual([0.31, 12.4, 185, 7440].map(duration), ['0.3 s', '12 s', '3 min 5 s', '2 h 4 min']);
});

test('clipping never splits a surrogate pair', () => {
  assert.deepEqual(clip('ab😀', 3), { text: 'ab', hidden: 2 });
});

test('triggers', () => {
  assert.equal(triggerAt('see @da', 7)?.query, 'da');
  assert.equal(triggerAt('a@b.example', 11), null);
  assert.equal(triggerAt('/un', 3)?.sign, '/');
  assert.equal(triggerAt('x /un', 5), null);
});

test('candidates are ranked: prefix, word start, inside, scattered', () => {
  const labels = ['my_data', 'data', 'dxaxtxa', 'x data', 'other'];
  const found = rank(labels.map(label => ({ label, kind: '', detail: '' })), 'data');
  assert.deepEqual(found.map(entry => entry.label), ['data', 'x data', 'my_data', 'dxaxtxa']);
});
