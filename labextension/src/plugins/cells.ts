/** The agent at the cell: "edit this cell" in the cell's toolbar and by shortcut, "Fix with agent" under an error. */

import type { JupyterFrontEnd, JupyterFrontEndPlugin } from '@jupyterlab/application';
import { ICommandPalette } from '@jupyterlab/apputils';
import { INotebookTracker } from '@jupyterlab/notebook';
import { IRenderMimeRegistry, type IRenderMime } from '@jupyterlab/rendermime';
import { ISettingRegistry } from '@jupyterlab/settingregistry';
import { ITranslator, nullTranslator } from '@jupyterlab/translation';
import { agentIcon } from '../components/icons';
import { IAgentPanel } from '../tokens';
import { PANEL_ID } from './panel';

const EDIT = 'jupyter-agent:edit-cell';
const FIX = 'jupyter-agent:fix-cell';
const ERROR = 'application/vnd.jupyter.error';
const STDERR = 'application/vnd.jupyter.stderr';

export const cellsPlugin: JupyterFrontEndPlugin<void> = {
  id: 'jupyter-agent-live:cells',
  description: 'The agent in the cell toolbar and under errors.',
  autoStart: true,
  requires: [IAgentPanel, INotebookTracker, IRenderMimeRegistry],
  optional: [ITranslator, ISettingRegistry, ICommandPalette],
  activate: (
    app: JupyterFrontEnd,
    agent: IAgentPanel,
    tracker: INotebookTracker,
    rendermime: IRenderMimeRegistry,
    translator: ITranslator | null,
    settings: ISettingRegistry | null,
    palette: ICommandPalette | null
  ): void => {
    const trans = (translator ?? nullTranslator).load('jupyter_agent');
    const hasCell = (): boolean => tracker.activeCell !== null;
    app.commands.addCommand(EDIT, {
      label: trans.__('Edit This Cell with the Agent'),
      caption: trans.__('Edit this cell with the agent'),
      icon: agentIcon,
      isEnabled: hasCell,
      execute: () => {
        const suggestion = agent.work.suggestions().find(found => found.kind !== 'error');
        agent.compose({ text: '', attachments: suggestion ? [suggestion.attachment()] : [] }, false);
      }
    });
    app.commands.addCommand(FIX, {
      label: trans.__('Fix This Cell with the Agent'),
      icon: agentIcon,
      isEnabled: () => tracker.activeCell !== null && agent.work.errorOf(tracker.activeCell) !== null,
      execute: () => {
        const error = tracker.activeCell ? agent.work.errorOf(tracker.activeCell) : null;
        if (error) {
          agent.compose({ text: trans.__('Fix this error.'), attachments: [error.attachment()] }, true);
        }
      }
    });
    for (const command of [EDIT, FIX]) {
      palette?.addItem({ command, category: trans.__('Agent') });
    }
    let wanted = true;
    void settings?.load(PANEL_ID).then(loaded => {
      const apply = (): void => {
        wanted = loaded.composite.fixButton !== false;
      };
      loaded.changed.connect(apply);
      apply();
    });
    const fix = (node: HTMLElement): void => {
      const panel = tracker.find(candidate => candidate.node.contains(node));
      const cell = panel?.content.widgets.find(widget => widget.node.contains(node));
      const error = cell ? agent.work.errorOf(cell) : null;
      if (error) {
        agent.compose({ text: trans.__('Fix this error.'), attachments: [error.attachment()] }, true);
      }
    };
    addErrorRenderer(rendermime, trans.__('Fix with agent'), () => wanted, fix);
  }
};

/** Errors are drawn as ever, with a button below: for the error's own MIME type, which no other output has. */
function addErrorRenderer(
  rendermime: IRenderMimeRegistry,
  label: string,
  wanted: () => boolean,
  fix: (node: HTMLElement) => void
): void {
  const plain = rendermime.getFactory(STDERR);
  if (!plain) {
    return;
  }
  const createRenderer = (options: IRenderMime.IRendererOptions): IRenderMime.IRenderer => {
    const renderer = plain.createRenderer({ ...options, mimeType: STDERR });
    const draw = renderer.renderModel.bind(renderer);
    renderer.renderModel = async model => {
      await draw(model);
      // An error drawn elsewhere than in a notebook (a console) has no cell that could be fixed.
      window.requestAnimationFrame(() => {
        const inNotebook = renderer.node.closest('.jp-Notebook') !== null;
        if (wanted() && inNotebook && !renderer.node.querySelector('.jp-agent-fix')) {
          renderer.node.append(fixButton(label, fix));
        }
      });
    };
    return renderer;
  };
  rendermime.addFactory({ safe: true, mimeTypes: [ERROR], createRenderer }, 105);
}

function fixButton(label: string, fix: (node: HTMLElement) => void): HTMLElement {
  const button = document.createElement('button');
  button.type = 'button';
  button.className = 'jp-agent-fix';
  button.append(agentIcon.element({ tag: 'span' }), label);
  button.addEventListener('click', () => fix(button));
  // A press must not move the notebook's focus to the output.
  button.addEventListener('mousedown', event => event.preventDefault());
  return button;
}
