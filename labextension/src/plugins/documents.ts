/** Lets the server work in the notebooks that are open in this page. */

import type { JupyterFrontEnd, JupyterFrontEndPlugin } from '@jupyterlab/application';
import { INotebookTracker } from '@jupyterlab/notebook';
import { Api } from '../client/api';
import { DocumentBridge } from '../document/bridge';

export const documentsPlugin: JupyterFrontEndPlugin<void> = {
  id: 'jupyter-agent-live:documents',
  description: 'Lets the agent work in open notebooks.',
  autoStart: true,
  requires: [INotebookTracker],
  activate: (app: JupyterFrontEnd, tracker: INotebookTracker): void => {
    new DocumentBridge(tracker, new Api(app.serviceManager.serverSettings));
  }
};
