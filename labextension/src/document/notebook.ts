/** Reading and changing an open notebook through its model: minimal, in one go, with focus and selection left alone. */

import type { Cell, ICellModel, ICodeCellModel } from '@jupyterlab/cells';
import type { IBaseCellMetadata, ICell, IOutput } from '@jupyterlab/nbformat';
import type { NotebookPanel } from '@jupyterlab/notebook';
import type { JsonObject } from '../protocol';
import { moves } from './order';
import { splices } from './splice';

/** What the page declines, with the server's word for the reason. */
export class Declined extends Error {
  constructor(
    readonly kind: string,
    message: string
  ) {
    super(message);
  }
}

/** A number for the outputs of each cell, another one whenever they changed: unchanged ones need not be sent again. */
const revisions = new WeakMap<ICellModel, number>();
// Never the same number twice in this page: a cell that is moved or pasted is a new model with an old id.
let revision = 0;

function revisionOf(model: ICellModel): number {
  const known = revisions.get(model);
  if (known !== undefined) {
    return known;
  }
  const bump = (): void => {
    revisions.set(model, ++revision);
  };
  bump();
  if (model.type === 'code') {
    const { outputs } = model as ICodeCellModel;
    outputs.changed.connect(bump);
    outputs.stateChanged.connect(bump);
  }
  return revision;
}

/** All cells; where `seen` holds a cell's present revision, without its outputs. */
export function read(panel: NotebookPanel, seen: Record<string, number>): object {
  const model = panel.content.model!;
  const cells = Array.from(model.cells, cell => {
    const revision = revisionOf(cell);
    const sameOutputs = seen[cell.id] === revision;
    return { id: cell.id, revision, same_outputs: sameOutputs, cell: sameOutputs ? withoutOutputs(cell) : cell.toJSON() };
  });
  return {
    cells,
    metadata: model.sharedModel.metadata,
    minor: model.nbformatMinor,
    dirty: model.dirty
  };
}

function withoutOutputs(cell: ICellModel): object {
  const { cell_type, metadata, source } = {
    cell_type: cell.type,
    metadata: cell.sharedModel.getMetadata(),
    source: cell.sharedModel.getSource()
  };
  return { cell_type, metadata, source };
}

export interface IChangeRequest {
  order: string[];
  known: string[];
  insert: Record<string, ICell>;
  set: Record<string, IFields>;
  expected: Record<string, string>;
}

interface IFields {
  /** The whole cell, where its type changes. */
  cell?: ICell;
  source?: string;
  metadata?: JsonObject;
  attachments?: JsonObject;
  outputs?: IOutput[];
  execution_count?: number | null;
}

/**
 * Makes the change at once, or nothing of it: nothing is awaited in here, so no key is pressed in between.
 * Raises Declined('stale') when a cell concerned is not what was read any more, or cells came, went or moved.
 */
export function change(panel: NotebookPanel, request: IChangeRequest): void {
  const model = panel.content.model!;
  const present = new Map(Array.from(model.cells, cell => [cell.id, cell]));
  if ([...present.keys()].join() !== request.known.join()) {
    throw new Declined('stale', 'Cells were added, removed or moved meanwhile.');
  }
  for (const [id, source] of Object.entries(request.expected)) {
    if (present.get(id)?.sharedModel.getSource() !== source) {
      throw new Declined('stale', `Cell ${id} was changed meanwhile.`);
    }
  }
  keepingPlace(panel, movesActiveCell(panel, request), () => {
    changeStructure(panel, request);
    for (const [id, fields] of Object.entries(request.set)) {
      const cell = present.get(id);
      if (cell && !fields.cell) {
        changeCell(cell, fields);
      }
    }
  });
}

function changeStructure(panel: NotebookPanel, request: IChangeRequest): void {
  const shared = panel.content.model!.sharedModel;
  const wanted = new Set(request.order);
  const retyped = Object.entries(request.set).filter(([, fields]) => fields.cell);
  const order = request.order.filter(id => !(id in request.insert));
  const kept = request.known.filter(id => wanted.has(id));
  if (kept.length === request.known.length && order.join() === kept.join() && !retyped.length && order.length === request.order.length) {
    return;
  }
  const active = panel.content.activeCell?.model.id;
  const moving = moves(kept, order, new Set(active ? [active] : []));
  // The model's own `moveCell` looks cells up in a list that is renewed only after the transaction.
  const ids = new Set(moving.map(({ id }) => id));
  const moved = new Map(shared.cells.filter(cell => ids.has(cell.getId())).map(cell => [cell.getId(), cell.toJSON()]));
  shared.transact(() => {
    for (let index = request.known.length - 1; index >= 0; index--) {
      if (!wanted.has(request.known[index]!)) {
        shared.deleteCell(index);
      }
    }
    for (const { id, from, to } of moving) {
      shared.deleteCell(from);
      shared.insertCell(to, moved.get(id)!);
    }
    for (const [id, fields] of retyped) {
      const index = order.indexOf(id);
      shared.deleteCell(index);
      shared.insertCell(index, fields.cell as Parameters<typeof shared.insertCell>[1]);
    }
    request.order.forEach((id, index) => {
      const inserted = request.insert[id];
      if (inserted) {
        shared.insertCell(index, inserted as Parameters<typeof shared.insertCell>[1]);
      }
    });
  });
}

function changeCell(cell: ICellModel, fields: IFields): void {
  const shared = cell.sharedModel;
  if (fields.source !== undefined) {
    // A step of its own on the undo stack: Ctrl+Z takes back our change or the person's typing, never both at once.
    const { undoManager } = shared as { undoManager?: { stopCapturing: () => void } };
    undoManager?.stopCapturing();
    for (const splice of splices(shared.getSource(), fields.source)) {
      shared.updateSource(splice.start, splice.end, splice.text);
    }
    undoManager?.stopCapturing();
  }
  if (fields.metadata !== undefined) {
    // Setting only adds and replaces.
    Object.keys(shared.getMetadata()).filter(key => !(key in fields.metadata!)).forEach(key => shared.deleteMetadata(key));
    shared.setMetadata(fields.metadata as Partial<IBaseCellMetadata>);
  }
  if (fields.attachments !== undefined && cell.type !== 'code') {
    (shared as unknown as { attachments: JsonObject }).attachments = fields.attachments;
  }
  if (fields.outputs !== undefined && cell.type === 'code') {
    const code = cell as ICodeCellModel;
    // Outputs that are put back were not made by a run just now: they show as those of a file that was just opened.
    code.trusted = code.trusted && fields.outputs.length === 0;
    code.outputs.fromJSON(fields.outputs);
    code.executionCount = fields.execution_count ?? null;
  }
}

export interface IOutputsRequest {
  cell: string;
  outputs: IOutput[];
  execution_count: number | null;
  timing: Record<string, string> | null;
}

/** Shows outputs of code that the server ran for a cell of this notebook. */
export function setOutputs(panel: NotebookPanel, request: IOutputsRequest): void {
  const cell = Array.from(panel.content.model!.cells).find(candidate => candidate.id === request.cell);
  if (cell?.type !== 'code') {
    throw new Declined('unknown_cell', 'The cell is not there any more.');
  }
  const code = cell as ICodeCellModel;
  extendOutputs(code, request.outputs);
  code.executionCount = request.execution_count;
  // The person let this code run, so its outputs are as trusted as those of a run by hand.
  code.trusted = true;
  if (request.timing) {
    code.setMetadata('execution', request.timing);
  }
}

/** Adds what is new instead of drawing everything again, so that growing output neither flickers nor jumps. */
function extendOutputs(code: ICodeCellModel, outputs: readonly IOutput[]): void {
  const { outputs: shown } = code;
  const old = shown.toJSON();
  const last = old.length - 1;
  const same = (index: number): boolean => JSON.stringify(old[index]) === JSON.stringify(outputs[index]);
  const unchanged = old.every((_, index) => index === last || same(index));
  if (!unchanged || outputs.length < old.length) {
    shown.fromJSON(outputs as IOutput[]);
    return;
  }
  if (last >= 0 && !same(last)) {
    const [was, now] = [old[last]!, outputs[last]!];
    const [text, longer] = [streamText(was), streamText(now)];
    if (text === null || longer === null || was.name !== now.name || !longer.startsWith(text)) {
      shown.fromJSON(outputs as IOutput[]);
      return;
    }
    shown.add({ output_type: 'stream', name: now.name as string, text: longer.slice(text.length) });
  }
  for (const output of outputs.slice(old.length)) {
    shown.add(output);
  }
}

function streamText(output: IOutput): string | null {
  if (output.output_type !== 'stream') {
    return null;
  }
  const { text } = output;
  return Array.isArray(text) ? text.join('') : String(text);
}

/** Whether a change may move the active cell on the screen: something at or above it changes. */
function movesActiveCell(panel: NotebookPanel, request: IChangeRequest): boolean {
  const active = panel.content.activeCell?.model.id;
  const at = active === undefined ? -1 : request.known.indexOf(active);
  return request.known.slice(0, at + 1).some((id, index) => request.order[index] !== id || id in request.set);
}

/** Runs `work` and puts back what it may have moved: the focus, and where `moves` says so the active cell's place. */
function keepingPlace(panel: NotebookPanel, moves: boolean, work: () => void): void {
  const notebook = panel.content;
  const cell: Cell | null = notebook.activeCell;
  const focused = document.activeElement;
  // Measuring makes the browser lay out the whole page, so it is done only where it is needed.
  const top = moves && cell?.node.isConnected ? cell.node.getBoundingClientRect().top : null;
  work();
  if (!cell || cell.isDisposed) {
    return;
  }
  if (top !== null && cell.node.isConnected) {
    const moved = cell.node.getBoundingClientRect().top - top;
    const scroller = notebook.node.querySelector('.jp-WindowedPanel-outer') ?? notebook.node;
    if (moved !== 0) {
      scroller.scrollTop += moved;
    }
  }
  if (focused !== document.activeElement && focused instanceof HTMLElement && focused.isConnected) {
    focused.focus({ preventScroll: true });
  }
}
