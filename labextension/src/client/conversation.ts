/** One conversation as this page holds it: the folded events, what was sent and not yet confirmed, and the connection. */

import { UUID } from '@lumino/coreutils';
import { Signal } from '@lumino/signaling';
import type { AgentEvent, Decision, IAttachment, IHello, IStatus, IWithheld, Mode, Request, ServerMessage } from '../protocol';
import { EMPTY, IApprovalState, isOpen, IViewState, reduce, withoutStreaming } from '../view/state';
import type { Api } from './api';
import { Outbox } from './outbox';
import { Link, Socket } from './socket';
import { work } from './work';

/** This page, as the server tells pages apart. */
export const CLIENT = UUID.uuid4();

/** Milliseconds from one drawing of news to the next: more often, and drawing would keep a small machine busy. */
const INTERVAL = 100;
/** Milliseconds without work in notebooks after which drawing does not come between two steps of it. */
const REST = 40;
/** Milliseconds that drawing waits for such a rest at most, and then for a pause of the page: Safari has none. */
const LATEST = { rest: 250, pause: 50 };

export interface ISending {
  id: string;
  text: string;
  attachments: IAttachment[];
}

/** A snapshot for drawing; a new object whenever something changed. */
export interface ISnapshot {
  view: IViewState;
  status: IStatus | null;
  link: Link;
  /** Why the connection is lost for good, or what was declined last; a sentence, or empty. */
  problem: string;
  /** Messages that the server has not confirmed, in order. */
  sending: readonly ISending[];
  running: boolean;
}

export class Conversation {
  constructor(
    readonly id: string,
    private readonly api: Api
  ) {
    this.outbox = new Outbox(message => this.socket.send(message));
    this.socket = new Socket(api.settings, `jupyter-agent/conversations/${encodeURIComponent(id)}/events`, {
      hello: () => this.hello(),
      message: message => this.received(message as ServerMessage),
      link: (link, because) => this.linked(link, because),
      diagnose: () => this.api.diagnose(id)
    });
  }

  /** Emitted at most ten times a second, however much happens. */
  readonly changed = new Signal<this, void>(this);

  /** Each event that happens while this page has the conversation; not those that it is given when it opens it. */
  readonly arrived = new Signal<this, AgentEvent>(this);

  get snapshot(): ISnapshot {
    return this.current;
  }

  readonly subscribe = (listener: () => void): (() => void) => {
    this.changed.connect(listener);
    return () => {
      this.changed.disconnect(listener);
    };
  };

  readonly getSnapshot = (): ISnapshot => this.current;

  /** Sends a message, now or as soon as there is a connection; the server takes each `id` once. */
  send(text: string, attachments: IAttachment[], withheld: IWithheld): void {
    const sending: ISending = { id: UUID.uuid4(), text, attachments };
    this.update({ sending: [...this.current.sending, sending], problem: '' });
    this.outbox.put({ type: 'user', ...sending, ...withheld });
  }

  answer(approval: IApprovalState, decision: Decision, reason = ''): void {
    const { id, digest } = approval.request;
    this.tell({ type: 'approval', id, digest, decision, reason });
  }

  answerQuestion(id: string, text: string): void {
    this.tell({ type: 'answer', id, text });
  }

  stop(): void {
    this.tell({ type: 'stop' });
  }

  setMode(mode: Mode): void {
    this.tell({ type: 'mode', mode });
  }

  setModel(model: string): void {
    this.tell({ type: 'model', model });
  }

  /** Take back what turn `turn` changed; with `later`, the turns after it too. */
  undo(turn: number, later: boolean): void {
    this.tell({ type: 'undo', turn, later });
  }

  /** Take back one cell or file of a turn. */
  revert(turn: number, target: string, cell: string): void {
    this.tell({ type: 'revert', turn, target, cell });
  }

  retry(): void {
    this.socket.retry();
  }

  clearProblem(): void {
    this.update({ problem: '' });
  }

  dispose(): void {
    window.clearTimeout(this.timer);
    window.cancelIdleCallback?.(this.pause);
    this.socket.dispose();
    Signal.clearData(this);
  }

  private hello(): IHello {
    this.flush();
    this.update({ view: withoutStreaming(this.current.view) });
    return { after: this.current.view.seq, client: CLIENT };
  }

  private linked(link: Link, because: string): void {
    this.update({ link, problem: because || (link === 'open' ? '' : this.current.problem) });
    if (link === 'open') {
      this.outbox.resend();
    }
  }

  private tell(request: Request): void {
    if (!this.outbox.put(request)) {
      this.update({ problem: 'There is no connection to the server at the moment. This is sent as soon as it is back.' });
    }
  }

  private received(message: ServerMessage): void {
    this.queue.push(message);
    if (this.queue.length === 1) {
      const wait = this.flushed + INTERVAL - performance.now();
      this.timer = window.setTimeout(() => this.flushSoon(performance.now() + LATEST.rest), Math.max(0, wait));
    }
  }

  /** In a pause of the page: what the agent does in its notebooks comes before what the panel shows of it. */
  private flushSoon(deadline: number): void {
    window.clearTimeout(this.timer);
    const rest = Math.min(work.last + REST, deadline) - performance.now();
    if (rest > 0) {
      this.timer = window.setTimeout(() => this.flushSoon(deadline), rest);
    } else {
      this.timer = window.setTimeout(() => this.flush(), LATEST.pause);
      this.pause = window.requestIdleCallback?.(() => this.flush()) ?? 0;
    }
  }

  private flush(): void {
    window.clearTimeout(this.timer);
    window.cancelIdleCallback?.(this.pause);
    const queue = this.queue;
    this.queue = [];
    this.flushed = performance.now();
    if (queue.length === 0) {
      return;
    }
    let { view, status, problem, sending } = this.current;
    const arrived: AgentEvent[] = [];
    for (const message of queue) {
      if (message.type === 'status') {
        status = message;
        this.opened ??= message.newest;
      } else if (message.type === 'taken') {
        this.outbox.taken(message.number);
      } else if (message.type === 'problem') {
        problem = message.text;
        sending = message.id ? this.settle(sending, message.id) : sending;
      } else {
        view = reduce(view, message satisfies AgentEvent);
        if (message.seq > (this.opened ?? Infinity)) {
          arrived.push(message);
        }
        if (message.type === 'user') {
          sending = this.settle(sending, message.id);
        }
      }
    }
    this.update({ view, status, problem, sending });
    arrived.forEach(event => this.arrived.emit(event));
  }

  private settle(sending: readonly ISending[], id: string): readonly ISending[] {
    this.outbox.settled(id);
    return sending.filter(entry => entry.id !== id);
  }

  private update(changes: Partial<ISnapshot>): void {
    const next = { ...this.current, ...changes };
    next.running = next.status ? next.status.running : isOpen(next.view);
    this.current = next;
    this.changed.emit();
  }

  private readonly socket: Socket;
  private readonly outbox: Outbox;
  private current: ISnapshot = {
    view: EMPTY,
    status: null,
    link: 'connecting',
    problem: '',
    sending: [],
    running: false
  };
  private queue: ServerMessage[] = [];
  /** The number of the last event that had happened when this page opened the conversation. */
  private opened: number | undefined;
  private pause = 0;
  private flushed = -INTERVAL;
  private timer = 0;
}
