/** From a path and a cell id to what is open in this page. */

import type { INotebookTracker, NotebookPanel } from '@jupyterlab/notebook';

/** A path on the server's machine as the contents manager names it: relative to `root`. Others stay as they are. */
export function localPath(path: string, root: string): string {
  const folder = root.replace(/\/+$/, '');
  return path.startsWith(`${folder}/`) ? path.slice(folder.length + 1) : path.replace(/^\/+/, '');
}

export function findPanel(tracker: INotebookTracker, path: string): NotebookPanel | null {
  return tracker.find(panel => panel.context.path === path) ?? null;
}

export function findCell(
  tracker: INotebookTracker,
  path: string,
  cell: string
): { panel: NotebookPanel; index: number } | null {
  const panel = findPanel(tracker, path);
  const index = panel?.content.widgets.findIndex(widget => widget.model.id === cell) ?? -1;
  return panel && index >= 0 ? { panel, index } : null;
}
