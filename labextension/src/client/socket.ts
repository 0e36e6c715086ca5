/** A websocket to our server that comes back by itself, and says why it cannot. */

import { URLExt } from '@jupyterlab/coreutils';
import type { ServerConnection } from '@jupyterlab/services';

export type Link = 'connecting' | 'open' | 'waiting' | 'lost';

export interface ISocketHandlers {
  /** Called at each (re)connection, before any message: what the server must know first. */
  hello: () => object;
  message: (message: unknown) => void;
  link: (link: Link, because: string) => void;
  /** Asked after a failed connection: a sentence when trying again is useless, else null. */
  diagnose: () => Promise<string | null>;
}

const FIRST_DELAY = 400;
const LONGEST_DELAY = 15_000;

export class Socket {
  constructor(
    private readonly settings: ServerConnection.ISettings,
    private readonly path: string,
    private readonly handlers: ISocketHandlers
  ) {
    window.addEventListener('online', this.wake);
    document.addEventListener('visibilitychange', this.wake);
    this.connect();
  }

  get isOpen(): boolean {
    return this.socket?.readyState === WebSocket.OPEN;
  }

  /** Sends now; false when there is no connection. */
  send(message: object): boolean {
    if (!this.isOpen) {
      return false;
    }
    this.socket!.send(JSON.stringify(message));
    return true;
  }

  /** Tries again at once, also after it was given up. */
  retry(): void {
    if (!this.disposed && !this.socket) {
      window.clearTimeout(this.timer);
      this.attempt = 0;
      this.connect();
    }
  }

  dispose(): void {
    this.disposed = true;
    window.clearTimeout(this.timer);
    window.removeEventListener('online', this.wake);
    document.removeEventListener('visibilitychange', this.wake);
    const socket = this.socket;
    this.socket = null;
    socket?.close();
  }

  private readonly wake = (): void => {
    if (!document.hidden && this.waiting) {
      this.retry();
    }
  };

  private connect(): void {
    this.waiting = false;
    this.handlers.link('connecting', '');
    let url = URLExt.join(this.settings.wsUrl, this.path);
    if (this.settings.appendToken && this.settings.token) {
      url += `?token=${encodeURIComponent(this.settings.token)}`;
    }
    const socket = new this.settings.WebSocket(url);
    this.socket = socket;
    socket.onopen = () => {
      this.attempt = 0;
      socket.send(JSON.stringify(this.handlers.hello()));
      this.handlers.link('open', '');
    };
    socket.onmessage = event => {
      if (this.socket === socket) {
        this.handlers.message(JSON.parse(event.data as string));
      }
    };
    socket.onclose = () => {
      if (this.socket === socket) {
        this.socket = null;
        void this.closed();
      }
    };
  }

  private async closed(): Promise<void> {
    const because = await this.handlers.diagnose();
    if (this.disposed || this.socket) {
      return;
    }
    if (because !== null) {
      this.handlers.link('lost', because);
      return;
    }
    this.waiting = true;
    this.handlers.link('waiting', '');
    const delay = Math.min(LONGEST_DELAY, FIRST_DELAY * 1.7 ** this.attempt++);
    // Some chance, so that all pages of a restarted server do not come back in the same instant.
    this.timer = window.setTimeout(() => this.connect(), delay * (0.7 + 0.6 * Math.random()));
  }

  private socket: WebSocket | null = null;
  private attempt = 0;
  private timer = 0;
  private waiting = false;
  private disposed = false;
}
