/**
 * What a person said or decided, until the server has taken it: a broken connection must not lose a click.
 *
 * Each message goes out with a number of its own and again after each reconnection, in the order of the numbers; the
 * server confirms a number, and does nothing about one that it has had from this page.
 */

import type { Numbered, Request } from '../protocol';

/** Counts through all conversations of this page, since the server knows a page, not an object in it. */
let newest = 0;

export class Outbox {
  /** `transmit` sends now, and says whether there is a connection. */
  constructor(private readonly transmit: (message: Numbered) => boolean) {}

  /** Sends now, or after the next `resend`; whether it went out now. */
  put(request: Request): boolean {
    const message: Numbered = { ...request, number: ++newest };
    const about = subject(request);
    this.waiting = [...this.waiting.filter(earlier => about === null || subject(earlier) !== about), message];
    return this.transmit(message);
  }

  /** Sends all again: there is a new connection. */
  resend(): void {
    this.waiting.forEach(message => this.transmit(message));
  }

  /** The server has the message of this number; a person's words stay until they are in the transcript. */
  taken(number: number): void {
    this.waiting = this.waiting.filter(message => message.number !== number || message.type === 'user');
  }

  /** The words with this id are in the transcript, or were declined. */
  settled(id: string): void {
    this.waiting = this.waiting.filter(message => message.type !== 'user' || message.id !== id);
  }

  private waiting: readonly Numbered[] = [];
}

/** What a later message of the same kind decides anew; null for those that all count. */
function subject(request: Request): string | null {
  switch (request.type) {
    case 'approval':
    case 'answer':
      return `${request.type} ${request.id}`;
    case 'stop':
    case 'mode':
    case 'model':
      return request.type;
    case 'user':
    case 'undo':
    case 'revert':
      return null;
  }
}
