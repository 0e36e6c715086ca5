/** Running a cell of an open notebook for the server: widgets, input and display updates are then JupyterLab's own. */

import { CodeCell, type ICodeCellModel } from '@jupyterlab/cells';
import type { NotebookPanel } from '@jupyterlab/notebook';
import type { KernelMessage } from '@jupyterlab/services';
import { Declined } from './notebook';

export interface IRunRequest {
  cell: string;
  source: string;
}

/** Milliseconds between two reports while outputs arrive. */
const REPORT_EVERY = 100;

/**
 * Starts the cell and returns; `report` gets its state while it runs and once at the end.
 * Raises Declined: `stale` when the cell is not what the server read, `no_kernel`, `unknown_cell`.
 */
export function run(panel: NotebookPanel, request: IRunRequest, report: (state: object) => void): void {
  const cell = panel.content.widgets.find(widget => widget.model.id === request.cell);
  if (!(cell instanceof CodeCell)) {
    throw new Declined('unknown_cell', 'The cell is not there any more, or is not a code cell.');
  }
  if (cell.model.sharedModel.getSource() !== request.source) {
    throw new Declined('stale', 'The cell was changed meanwhile.');
  }
  if (!panel.sessionContext.session?.kernel || !request.source.trim()) {
    throw new Declined('no_kernel', 'The page has no kernel for this notebook.');
  }
  void follow(panel, cell, report);
}

async function follow(panel: NotebookPanel, cell: CodeCell, report: (state: object) => void): Promise<void> {
  const model: ICodeCellModel = cell.model;
  const state = { status: 'queued', started: '', ended: '' };
  let timer = 0;
  const tell = (extra: object = {}): void => {
    window.clearTimeout(timer);
    timer = 0;
    report({ ...state, outputs: model.outputs.toJSON(), execution_count: model.executionCount, ...extra });
  };
  const later = (): void => {
    timer = timer || window.setTimeout(tell, REPORT_EVERY);
  };
  model.outputs.changed.connect(later);
  model.outputs.stateChanged.connect(later);
  const tags = ['raises-exception', ...((model.getMetadata('tags') as string[] | undefined) ?? [])];
  const recordTiming = panel.content.notebookConfig.recordTiming;
  let reply: KernelMessage.IExecuteReplyMsg | void = undefined;
  let failure = '';
  try {
    // With this tag in the request (not in the cell) the kernel does not sweep away the person's queued cells when ours
    // fails: JupyterLab offers no other way to send stop_on_error=false (fault n38).
    const running = CodeCell.execute(cell, panel.sessionContext, { tags, recordTiming });
    cell.outputArea.future?.registerMessageHook(message => {
      if (message.header.msg_type === 'execute_input') {
        state.status = 'running';
        state.started = message.header.date;
        tell({ execution_count: (message.content as { execution_count: number }).execution_count });
      }
      return true;
    });
    tell();
    reply = await running;
  } catch (error) {
    failure = error instanceof Error ? error.message : String(error);
  }
  model.outputs.changed.disconnect(later);
  model.outputs.stateChanged.disconnect(later);
  state.status = reply ? reply.content.status : 'dead';
  state.ended = reply?.header.date ?? new Date().toISOString();
  tell({ done: true, advice: failure });
}
