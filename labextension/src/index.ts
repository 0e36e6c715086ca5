import type { JupyterFrontEndPlugin } from '@jupyterlab/application';
import { cellsPlugin } from './plugins/cells';
import { documentsPlugin } from './plugins/documents';
import { panelPlugin } from './plugins/panel';

export { IAgentPanel } from './tokens';

const plugins: JupyterFrontEndPlugin<unknown>[] = [panelPlugin, cellsPlugin, documentsPlugin];
export default plugins;
