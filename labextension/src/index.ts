import type { JupyterFrontEndPlugin } from '@jupyterlab/application';
import { cellsPlugin } from './plugins/cells';
import { panelPlugin } from './plugins/panel';

export { IAgentPanel } from './tokens';

const plugins: JupyterFrontEndPlugin<unknown>[] = [panelPlugin, cellsPlugin];
export default plugins;
