/**
 * This page's side of the documents it has open: tells the server which, answers its requests, and reports what the person
 * changes. One websocket, whether or not the panel is open.
 */

import type { INotebookTracker, NotebookPanel } from '@jupyterlab/notebook';
import type { Api } from '../client/api';
import { CLIENT } from '../client/conversation';
import { Socket } from '../client/socket';
import { work } from '../client/work';
import { findPanel } from './find';
import { change, Declined, type IChangeRequest, type IOutputsRequest, read, setOutputs } from './notebook';
import { placedAnew } from './order';
import { type IRunRequest, run } from './run';

interface IRequest {
  type: 'document';
  id: string;
  action: 'read' | 'change' | 'outputs' | 'save' | 'run';
  path: string;
  /** Revisions of the outputs that the server has, for what is answered with the cells. */
  seen: Record<string, number>;
}

export class DocumentBridge {
  constructor(
    private readonly tracker: INotebookTracker,
    api: Api
  ) {
    this.socket = new Socket(api.settings, 'jupyter-agent/documents', {
      hello: () => this.hello(),
      message: message => void this.answer(message as IRequest),
      link: () => undefined,
      diagnose: () => api.unreachable()
    });
    tracker.forEach(panel => this.follow(panel));
    tracker.widgetAdded.connect((_, panel) => this.follow(panel));
    tracker.currentChanged.connect((_, panel) => {
      if (panel) {
        this.tellState(panel, true);
      }
    });
    window.addEventListener('pagehide', () => this.socket.send({ type: 'bye' }));
  }

  private hello(): object {
    const documents: Record<string, object> = {};
    this.tracker.forEach(panel => {
      if (panel.content.model) {
        documents[panel.context.path] = this.stateOf(panel, panel === this.tracker.currentWidget);
      }
    });
    return { type: 'hello', client: CLIENT, documents };
  }

  private stateOf(panel: NotebookPanel, active: boolean): object {
    return { dirty: panel.context.model.dirty, active };
  }

  private tellState(panel: NotebookPanel, active = false): void {
    this.socket.send({ type: 'state', path: panel.context.path, ...this.stateOf(panel, active) });
  }

  private follow(panel: NotebookPanel): void {
    let path = panel.context.path;
    void panel.context.ready.then(() => {
      if (panel.isDisposed) {
        return;
      }
      this.tellState(panel, panel === this.tracker.currentWidget);
      panel.context.model.stateChanged.connect((_, change) => {
        if (change.name === 'dirty') {
          this.tellState(panel);
        }
      });
      panel.context.model.contentChanged.connect(() => this.touch(panel));
      this.reportChanges(panel);
    });
    panel.context.pathChanged.connect((_, renamed) => {
      this.renamed.set(path, renamed);
      this.socket.send({ type: 'renamed', path, to: renamed });
      path = renamed;
      this.tellState(panel, true);
    });
    panel.disposed.connect(() => {
      // A second view of the same document keeps it open.
      if (findPanel(this.tracker, path) === null) {
        this.socket.send({ type: 'closed', path });
      }
    });
  }

  /** Tells at once that something changed, once until the server next has the state: what it read stands until then. */
  private touch(panel: NotebookPanel): void {
    if (!this.touched.has(panel)) {
      this.touched.add(panel);
      this.socket.send({ type: 'touched', path: panel.context.path });
    }
  }

  private stateFor(panel: NotebookPanel, seen: Record<string, number>): object {
    this.touched.delete(panel);
    return read(panel, seen);
  }

  /** Tells which cells changed, a moment after they did, except for what the server itself asked for. */
  private reportChanges(panel: NotebookPanel): void {
    const changed = new Set<string>();
    let timer = 0;
    const note = (ids: string[]): void => {
      if (this.changing) {
        return;
      }
      ids.forEach(id => changed.add(id));
      timer =
        timer ||
        window.setTimeout(() => {
          timer = 0;
          this.socket.send({ type: 'changed', path: panel.context.path, cells: [...changed] });
          changed.clear();
        }, 100);
    };
    const model = panel.content.model!;
    const followed = new WeakSet<object>();
    const followCells = (): string[] =>
      Array.from(model.cells, cell => {
        if (!followed.has(cell)) {
          followed.add(cell);
          cell.sharedModel.changed.connect((_, event) => {
            if (event.sourceChange) {
              note([cell.id]);
            }
          });
        }
        return cell.id;
      });
    let before = followCells();
    model.cells.changed.connect(() => {
      const now = followCells();
      note(placedAnew(before, now));
      before = now;
    });
  }

  private async answer(request: IRequest): Promise<void> {
    const reply = { type: 'document', id: request.id };
    work.note();
    try {
      // The server may have asked before it heard of a rename.
      const renamed = this.renamed.get(request.path);
      const panel = findPanel(this.tracker, request.path) ?? (renamed ? findPanel(this.tracker, renamed) : null);
      if (!panel) {
        throw new Declined('missing', `${request.path} is not open in this page any more.`);
      }
      await panel.context.ready;
      const done = this.perform(panel, request);
      // What is done at once is answered at once, before JupyterLab draws it: an await would come after that.
      const result = done instanceof Promise ? await done : done;
      this.socket.send({ ...reply, ok: true, result: result ?? {} });
    } catch (error) {
      const kind = error instanceof Declined ? error.kind : 'op';
      this.socket.send({ ...reply, ok: false, kind, message: error instanceof Error ? error.message : String(error) });
    }
  }

  private perform(panel: NotebookPanel, request: IRequest): object | void | Promise<void> {
    switch (request.action) {
      case 'read':
        return this.stateFor(panel, request.seen);
      case 'change':
        this.changing = true;
        try {
          change(panel, request as unknown as IChangeRequest);
          return this.stateFor(panel, request.seen);
        } finally {
          this.changing = false;
        }
      case 'outputs':
        return setOutputs(panel, request as unknown as IOutputsRequest);
      case 'save':
        return panel.context.save();
      case 'run':
        return run(panel, request as unknown as IRunRequest, ({ asks, done }) => {
          work.note();
          // Who asked for it gets the cells with the end of the run.
          const state = done && request.seen && !panel.isDisposed ? this.stateFor(panel, request.seen) : undefined;
          this.socket.send({ type: 'execution', id: request.id, asks, done, state });
        });
    }
  }

  private readonly socket: Socket;
  private readonly renamed = new Map<string, string>();
  /** Documents whose change was told since the server last had their state. */
  private readonly touched = new WeakSet<NotebookPanel>();
  private changing = false;
}
