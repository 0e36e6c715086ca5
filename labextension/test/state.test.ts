import assert from 'node:assert/strict';
import test from 'node:test';
import type { AgentEvent } from '../src/protocol';
import { EMPTY, IToolItem, isOpen, nextReply, pendingApprovals, reduce, withoutStreaming } from '../src/view/state';

const stamp = (seq: number, turn = 1): { seq: number; time: number; turn: number } => ({ seq, time: 1000 + seq, turn });

const STREAM: AgentEvent[] = [
  { type: 'user', ...stamp(1), id: 'u1', text: 'Fix it', attachments: [] },
  { type: 'delta', ...stamp(1), block: 'text', text: 'Let me ' },
  { type: 'delta', ...stamp(1), block: 'text', text: 'look.' },
  { type: 'assistant', ...stamp(2), text: 'Let me look.', thinking: '', calls: [], stop_reason: 'tool_use', model: 'm' },
  { type: 'usage', ...stamp(3), input: 100, output: 10, cache_read: 50, cache_write: 0, cost: 0.01, context_used: 160, context_limit: 1000 },
  { type: 'tool_start', ...stamp(4), call: 'c1', name: 'edit_cells', arguments: { ops: [] } },
  { type: 'approval_request', ...stamp(5), id: 'a1', digest: 'd', kind: 'edit', title: 'Edit', preview: 'x', options: ['once', 'always', 'reject'] },
  { type: 'approval', ...stamp(6), id: 'a1', digest: 'd', decision: 'once', reason: '', by: 'person' },
  { type: 'change', ...stamp(7), target: '/nb.ipynb', cell: 'abc', before: '1', after: '2', diff: '', checkpoint: 'k' },
  { type: 'tool_result', ...stamp(8), call: 'c1', name: 'edit_cells', content: [], details: {}, is_error: false, seconds: 0.1 },
  { type: 'stop', ...stamp(9), reason: 'done', verified: 'unproven', summary: 'Done.', changes: [] }
];

const fold = (events: AgentEvent[]) => events.reduce(reduce, EMPTY);

test('a turn folds into a message, a reply, and a tool with its approval and change', () => {
  const state = fold(STREAM);
  assert.deepEqual(state.turns[0]!.items.map(item => item.kind), ['user', 'reply', 'tool']);
  const tool = state.turns[0]!.items[2] as IToolItem;
  assert.equal(tool.approvals[0]!.answer!.decision, 'once');
  assert.equal(tool.changes.length, 1);
  assert.equal(tool.result!.is_error, false);
  assert.equal(state.streaming, null);
  assert.equal(state.totals.input, 150);
  assert.equal(isOpen(state), false);
});

test('a reply keeps its key when it is written to its end, and the next one has another', () => {
  const growing = fold(STREAM.slice(0, 3)).turns[0]!;
  const written = fold(STREAM).turns[0]!;
  assert.equal(written.items[1]!.key, nextReply(growing));
  assert.notEqual(nextReply(written), nextReply(growing));
});

test('replaying any tail after a break at any event gives the same state (f54)', () => {
  const journalled = STREAM.filter(event => event.type !== 'delta');
  const whole = fold(journalled);
  for (let cut = 0; cut <= STREAM.length; cut++) {
    const before = withoutStreaming(fold(STREAM.slice(0, cut)));
    const again = journalled.filter(event => event.seq > Math.max(0, before.seq - 3));
    assert.deepEqual(again.reduce(reduce, before), whole, `cut after ${cut}`);
  }
});

test('a pending approval is found, and is void once its turn ended', () => {
  assert.deepEqual(pendingApprovals(fold(STREAM.slice(0, 7))).map(pending => pending.request.id), ['a1']);
  const stop: AgentEvent = { type: 'stop', ...stamp(6), reason: 'stopped', verified: 'none', summary: '', changes: [] };
  assert.deepEqual(pendingApprovals(fold([...STREAM.slice(0, 7), stop])), []);
});

test('a request without options waits for nobody', () => {
  const settled: AgentEvent = { type: 'approval_request', ...stamp(5), id: 'a2', digest: 'd', kind: 'edit', title: 'Edit', preview: 'x', options: [] };
  assert.deepEqual(pendingApprovals(fold([...STREAM.slice(0, 6), settled])), []);
});

test('only the first answer to an approval counts (f55)', () => {
  const second: AgentEvent = { type: 'approval', ...stamp(10), id: 'a1', digest: 'd', decision: 'reject', reason: '', by: 'person' };
  const tool = fold([...STREAM, second]).turns[0]!.items[2] as IToolItem;
  assert.equal(tool.approvals[0]!.answer!.decision, 'once');
});

test('what an event does not touch keeps its identity', () => {
  const first = fold(STREAM);
  const next = reduce(first, { type: 'user', ...stamp(12, 2), id: 'u2', text: 'More', attachments: [] });
  assert.equal(next.turns[0], first.turns[0]);
  assert.ok(isOpen(next));
});
