/** Running a cell of an open notebook for the server: widgets, input and display updates are then JupyterLab's own. */

import { CodeCell } from '@jupyterlab/cells';
import type { NotebookPanel } from '@jupyterlab/notebook';
import { Declined } from './notebook';

export interface IRunRequest {
  cell: string;
  source: string;
  /** The id of the kernel in which the server expects it to run. */
  kernel: string;
}

/** What the server is told while the cell runs: the prompt of an input() that waits for the person, then the end. */
export interface IRunState {
  asks?: string;
  done?: boolean;
}

/**
 * Starts the cell; the id of the request that was sent to the kernel.
 * Raises Declined: `stale` when the cell is not what the server read, `no_kernel`, `unknown_cell`.
 */
export function run(panel: NotebookPanel, request: IRunRequest, report: (state: IRunState) => void): object {
  const cell = panel.content.widgets.find(widget => widget.model.id === request.cell);
  if (!(cell instanceof CodeCell)) {
    throw new Declined('unknown_cell', 'The cell is not there any more, or is not a code cell.');
  }
  if (cell.model.sharedModel.getSource() !== request.source) {
    throw new Declined('stale', 'The cell was changed meanwhile.');
  }
  const kernel = panel.sessionContext.session?.kernel;
  if (!kernel || kernel.id !== request.kernel || kernel.connectionStatus !== 'connected' || !request.source.trim()) {
    throw new Declined('no_kernel', 'The page has no connection to the kernel of this notebook.');
  }
  // With this tag in the request (not in the cell) the kernel does not sweep away the person's queued cells when ours
  // fails: JupyterLab offers no other way to send stop_on_error=false (fault n38).
  const tags = ['raises-exception', ...((cell.model.getMetadata('tags') as string[] | undefined) ?? [])];
  const { recordTiming } = panel.content.notebookConfig;
  const area = cell.outputArea;
  const asking: Parameters<typeof area.inputRequested.connect>[0] = (_, input) => {
    report({ asks: input.node.textContent?.trim() || 'input' });
    void input.value.then(() => report({ asks: '' }));
  };
  area.inputRequested.connect(asking);
  const running = CodeCell.execute(cell, panel.sessionContext, { tags, recordTiming });
  const message = area.future!.msg.header.msg_id;
  void running
    .catch(() => undefined)
    .then(() => {
      area.inputRequested.disconnect(asking);
      report({ done: true });
    });
  return { message };
}
