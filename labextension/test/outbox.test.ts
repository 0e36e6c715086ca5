import assert from 'node:assert/strict';
import test from 'node:test';
import { Outbox } from '../src/client/outbox';
import type { Numbered, Request } from '../src/protocol';

/** An outbox with a connection that can be switched; `sent` holds what went out. */
function connected(): { outbox: Outbox; sent: Numbered[]; link: { open: boolean } } {
  const sent: Numbered[] = [];
  const link = { open: true };
  const outbox = new Outbox(message => {
    if (link.open) {
      sent.push(message);
    }
    return link.open;
  });
  return { outbox, sent, link };
}

const kinds = (messages: Numbered[]): string[] => messages.map(message => message.type);
const approval = (decision: 'once' | 'reject'): Request => ({ type: 'approval', id: 'a', digest: 'd', decision, reason: '' });

const SHOWN = { no_outputs: false, no_variables: false };

test('f54: what was decided without a connection goes out with the next one, in order', () => {
  const { outbox, sent, link } = connected();
  link.open = false;
  assert.equal(outbox.put(approval('once')), false);
  assert.equal(outbox.put({ type: 'undo', turn: 1, later: false }), false);
  link.open = true;
  outbox.resend();
  assert.deepEqual(kinds(sent), ['approval', 'undo']);
  assert.ok(sent[0]!.number < sent[1]!.number);
});

test('f54: a message is sent again with its own number until the server has taken it', () => {
  const { outbox, sent } = connected();
  outbox.put({ type: 'stop' });
  outbox.resend();
  assert.equal(sent[0]!.number, sent[1]!.number);
  outbox.taken(sent[0]!.number);
  outbox.resend();
  assert.equal(sent.length, 2);
});

test('a change of mind before the server has the first decision leaves only the later one', () => {
  const { outbox, sent, link } = connected();
  link.open = false;
  outbox.put(approval('once'));
  outbox.put({ type: 'mode', mode: 'plan' });
  outbox.put(approval('reject'));
  link.open = true;
  outbox.resend();
  assert.deepEqual(
    sent.map(message => (message.type === 'approval' ? message.decision : message.type)),
    ['mode', 'reject']
  );
});

test('words are kept until they are in the transcript: a server may end between taking and writing them', () => {
  const { outbox, sent } = connected();
  outbox.put({ type: 'user', id: 'u1', text: 'Hello', attachments: [], ...SHOWN });
  outbox.put({ type: 'user', id: 'u2', text: 'Again', attachments: [], ...SHOWN });
  outbox.taken(sent[0]!.number);
  outbox.settled('u2');
  outbox.resend();
  assert.deepEqual(sent.slice(2), [sent[0]]);
});
