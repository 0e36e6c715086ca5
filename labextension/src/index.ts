import { JupyterFrontEnd, JupyterFrontEndPlugin } from '@jupyterlab/application';

const plugin: JupyterFrontEndPlugin<void> = {
  id: 'jupyter-agent-live:panel',
  autoStart: true,
  activate: (app: JupyterFrontEnd) => {
    console.log(app.name);
  }
};
export default plugin;
