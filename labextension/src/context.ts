/** What the person is working on right now, and what a message can refer to: cells, files, variables, selection, error. */

import type { Cell, ICodeCellModel } from '@jupyterlab/cells';
import { PathExt } from '@jupyterlab/coreutils';
import type { IError } from '@jupyterlab/nbformat';
import type { INotebookTracker, NotebookPanel } from '@jupyterlab/notebook';
import type { Contents } from '@jupyterlab/services';
import { Signal } from '@lumino/signaling';
import type { Api } from './client/api';
import type { IAttachment } from './protocol';
import type { ICandidate } from './view/mentions';

/** Something to attach; its text is read when the message is sent, so that it is what the person then sees. */
export interface IReference extends ICandidate {
  attachment: () => IAttachment;
}

const ANSI = /\u001b\[[0-9;]*m/g;
const LONGEST = 20_000;

export class WorkContext {
  constructor(
    private readonly tracker: INotebookTracker | null,
    private readonly contents: Contents.IManager,
    private readonly api: Api
  ) {
    tracker?.currentChanged.connect(() => this.changed.emit());
    tracker?.activeCellChanged.connect(() => this.changed.emit());
    tracker?.selectionChanged.connect(() => this.changed.emit());
  }

  readonly changed = new Signal<this, void>(this);

  /** The notebook whose tab is, or last was, in front. */
  get panel(): NotebookPanel | null {
    return this.tracker?.currentWidget ?? null;
  }

  /** Its path on the server, or "". */
  get notebook(): string {
    return this.panel?.context.path ?? '';
  }

  /** What is likely meant: the selection in the active cell, else the active cell; and the last error. */
  suggestions(): IReference[] {
    const found: IReference[] = [];
    const cell = this.tracker?.activeCell ?? null;
    const index = cell ? this.indexOf(cell) : -1;
    if (cell && index >= 0) {
      const selected = selectedText(cell);
      if (selected) {
        found.push(this.selection(cell, index, selected));
      } else {
        found.push(this.cell(cell, index));
      }
    }
    const failed = this.lastError();
    if (failed) {
      found.push(failed);
    }
    return found;
  }

  /** Everything that `@` offers; `query` tells the folder whose files are listed. */
  async candidates(query: string): Promise<IReference[]> {
    const [files, variables] = await Promise.all([this.files(query), this.variables()]);
    return [...this.suggestions(), ...this.cells(), ...variables, ...files];
  }

  errorOf(cell: Cell): IReference | null {
    const index = this.indexOf(cell);
    const error = errorIn(cell);
    return error && index >= 0 ? this.error(cell, index, error) : null;
  }

  private cells(): IReference[] {
    return (this.panel?.content.widgets ?? []).map((cell, index) => this.cell(cell, index));
  }

  private indexOf(cell: Cell): number {
    return this.panel?.content.widgets.indexOf(cell) ?? -1;
  }

  private cell(cell: Cell, index: number): IReference {
    const source = cell.model.sharedModel.getSource();
    const label = `cell ${index + 1}`;
    return {
      label,
      kind: 'cell',
      detail: source.trim().split('\n', 1)[0] ?? '',
      attachment: () => ({
        type: 'text',
        kind: 'cell',
        name: `${label} of ${PathExt.basename(this.notebook)}`,
        text: `id=${cell.model.id} type=${cell.model.type}\n${cell.model.sharedModel.getSource().slice(0, LONGEST)}`
      })
    };
  }

  private selection(cell: Cell, index: number, text: string): IReference {
    const lines = text.split('\n').length;
    return {
      label: 'selection',
      kind: 'selection',
      detail: lines === 1 ? text.trim() : `${lines} lines in cell ${index + 1}`,
      attachment: () => ({
        type: 'text',
        kind: 'selection',
        name: `selection in cell ${index + 1} of ${PathExt.basename(this.notebook)}`,
        text: `cell id=${cell.model.id}\n${text.slice(0, LONGEST)}`
      })
    };
  }

  private lastError(): IReference | null {
    let newest: { cell: Cell; index: number; error: IError; count: number } | null = null;
    (this.panel?.content.widgets ?? []).forEach((cell, index) => {
      const error = errorIn(cell);
      const count = cell.model.type === 'code' ? ((cell.model as ICodeCellModel).executionCount ?? 0) : 0;
      if (error && (newest === null || count >= newest.count)) {
        newest = { cell, index, error, count };
      }
    });
    const found = newest as { cell: Cell; index: number; error: IError } | null;
    return found ? this.error(found.cell, found.index, found.error) : null;
  }

  private error(cell: Cell, index: number, error: IError): IReference {
    return {
      label: 'error',
      kind: 'error',
      detail: `${error.ename} in cell ${index + 1}`,
      attachment: () => ({
        type: 'text',
        kind: 'error',
        name: `${error.ename} in cell ${index + 1} of ${PathExt.basename(this.notebook)}`,
        text: [
          `cell id=${cell.model.id}`,
          cell.model.sharedModel.getSource(),
          error.traceback.join('\n').replace(ANSI, '')
        ]
          .join('\n')
          .slice(0, LONGEST)
      })
    };
  }

  private async files(query: string): Promise<IReference[]> {
    const root = PathExt.dirname(this.notebook);
    const folder = query.includes('/') ? query.slice(0, query.lastIndexOf('/')) : '';
    const listed = await this.contents.get(PathExt.join(root, folder), { content: true }).catch(() => null);
    const entries = (listed?.content ?? []) as Contents.IModel[];
    return entries
      .filter(entry => !entry.name.startsWith('.'))
      .map(entry => {
        const label = PathExt.join(folder, entry.name) + (entry.type === 'directory' ? '/' : '');
        return {
          label,
          kind: entry.type === 'directory' ? 'folder' : 'file',
          detail: entry.path === label ? '' : entry.path,
          attachment: () => ({ type: 'text', kind: 'file', name: label, text: `A path, relative to the server's root: ${entry.path}` })
        };
      });
  }

  private async variables(): Promise<IReference[]> {
    const notebook = this.notebook;
    if (!notebook || this.panel?.sessionContext.session?.kernel === undefined) {
      return [];
    }
    const found = await this.api.variables(notebook).catch(() => []);
    return found.map(variable => {
      const shape = [variable.type, variable.shape].filter(part => part).join(' ');
      return {
        label: variable.name,
        kind: 'variable',
        detail: shape,
        attachment: () => ({
          type: 'text' as const,
          kind: 'variable',
          name: variable.name,
          text: `A variable in the notebook's kernel: ${variable.name}: ${shape}`
        })
      };
    });
  }
}

export function errorIn(cell: Cell): IError | null {
  if (cell.model.type !== 'code') {
    return null;
  }
  const outputs = (cell.model as ICodeCellModel).outputs;
  for (let index = outputs.length - 1; index >= 0; index--) {
    const output = outputs.get(index);
    if (output.type === 'error') {
      return output.toJSON() as IError;
    }
  }
  return null;
}

function selectedText(cell: Cell): string {
  const editor = cell.editor;
  if (!editor) {
    return '';
  }
  const { start, end } = editor.getSelection();
  const offsets = [editor.getOffsetAt(start), editor.getOffsetAt(end)].sort((a, b) => a - b);
  return cell.model.sharedModel.getSource().slice(offsets[0], offsets[1]);
}
