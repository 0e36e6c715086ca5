/** The panel's plugin: puts it into the right sidebar, with its commands. */

import { ILayoutRestorer, type JupyterFrontEnd, type JupyterFrontEndPlugin } from '@jupyterlab/application';
import { ICommandPalette } from '@jupyterlab/apputils';
import { PageConfig } from '@jupyterlab/coreutils';
import { INotebookTracker, NotebookActions } from '@jupyterlab/notebook';
import { IRenderMimeRegistry } from '@jupyterlab/rendermime';
import { ISettingRegistry } from '@jupyterlab/settingregistry';
import { ITranslator, nullTranslator } from '@jupyterlab/translation';
import { Api } from '../client/api';
import { Store } from '../client/store';
import type { IDraft } from '../components/composer';
import { agentIcon } from '../components/icons';
import { MarkdownSanitizer } from '../components/sanitizer';
import type { IActions, IOptions, IServices } from '../components/services';
import { WorkContext } from '../context';
import { findCell, localPath } from '../document/find';
import { IAgentPanel } from '../tokens';
import { AgentWidget } from '../widget';
import { tellWhenHidden } from './notices';

export const PANEL_ID = 'jupyter-agent-live:panel';

export const Commands = {
  focus: 'jupyter-agent:focus',
  create: 'jupyter-agent:new-conversation',
  stop: 'jupyter-agent:stop'
} as const;

const DEFAULTS: IOptions = {
  sendWithEnter: true,
  showThinking: true,
  openToolCards: false,
  sendOutputs: true,
  sendVariables: true
};

export const panelPlugin: JupyterFrontEndPlugin<IAgentPanel> = {
  id: PANEL_ID,
  description: 'The agent in the right sidebar.',
  autoStart: true,
  provides: IAgentPanel,
  requires: [IRenderMimeRegistry],
  optional: [INotebookTracker, ITranslator, ISettingRegistry, ICommandPalette, ILayoutRestorer],
  activate: (
    app: JupyterFrontEnd,
    rendermime: IRenderMimeRegistry,
    tracker: INotebookTracker | null,
    translator: ITranslator | null,
    settings: ISettingRegistry | null,
    palette: ICommandPalette | null,
    restorer: ILayoutRestorer | null
  ): IAgentPanel => {
    const trans = (translator ?? nullTranslator).load('jupyter_agent');
    const { serviceManager } = app;
    const api = new Api(serviceManager.serverSettings);
    // Per workspace, so that two windows may show two conversations.
    const store = new Store(api, window.localStorage, `jupyter-agent:shown:${PageConfig.getOption('workspace') || 'default'}`);
    const sanitizer = new MarkdownSanitizer({ image: host => trans.__('image from %1: click to load', host) });
    const services: IServices = {
      store,
      trans,
      rendermime: rendermime.clone({ sanitizer }),
      work: new WorkContext(tracker, serviceManager.contents, api),
      actions: actionsFor(app, tracker, store),
      options: DEFAULTS
    };
    const widget = new AgentWidget(services);
    app.shell.add(widget, 'right', { rank: 700, type: 'Agent' });
    restorer?.add(widget, widget.id);
    void settings?.load(PANEL_ID).then(loaded => {
      const apply = (): void => {
        const composite = loaded.composite as Partial<IOptions>;
        widget.setServices({ ...services, options: { ...DEFAULTS, ...composite } });
      };
      loaded.changed.connect(apply);
      apply();
    });
    const show = (): void => app.shell.activateById(widget.id);
    tellWhenHidden(store, { isVisible: () => widget.isVisible, show, trans });
    void app.restored.then(() => store.start());
    addCommands(app, store, widget, palette, trans.__('Agent'), {
      focus: trans.__('Show the Agent'),
      create: trans.__('New Conversation with the Agent'),
      stop: trans.__('Stop the Agent')
    });
    return {
      compose: (draft: IDraft, send: boolean): void => {
        app.shell.activateById(widget.id);
        widget.compose(draft, send);
      },
      work: services.work,
      api
    };
  }
};

function addCommands(
  app: JupyterFrontEnd,
  store: Store,
  widget: AgentWidget,
  palette: ICommandPalette | null,
  category: string,
  labels: { focus: string; create: string; stop: string }
): void {
  const { commands } = app;
  commands.addCommand(Commands.focus, {
    label: labels.focus,
    icon: agentIcon,
    execute: () => {
      app.shell.activateById(widget.id);
      widget.focusField();
    }
  });
  commands.addCommand(Commands.create, {
    label: labels.create,
    execute: () => {
      store.close();
      app.shell.activateById(widget.id);
      widget.focusField();
    }
  });
  commands.addCommand(Commands.stop, {
    label: labels.stop,
    isEnabled: () => store.getSnapshot().conversation?.snapshot.running ?? false,
    execute: () => store.getSnapshot().conversation?.stop()
  });
  store.changed.connect(() => commands.notifyCommandChanged(Commands.stop));
  for (const command of Object.values(Commands)) {
    palette?.addItem({ command, category });
  }
}

function actionsFor(app: JupyterFrontEnd, tracker: INotebookTracker | null, store: Store): IActions {
  return {
    openPath: path => {
      void app.commands.execute('docmanager:open', { path }).catch(() => undefined);
    },
    insertCell: code => {
      const panel = tracker?.currentWidget;
      if (panel) {
        NotebookActions.insertBelow(panel.content);
        panel.content.activeCell?.model.sharedModel.setSource(code);
      }
    },
    showCell: (target, cell) => {
      const path = localPath(target, store.getSnapshot().conversation?.snapshot.status?.root ?? '');
      const found = tracker ? findCell(tracker, path, cell) : null;
      if (found) {
        void found.panel.content.scrollToItem(found.index, 'smart').catch(() => undefined);
      } else {
        void app.commands.execute('docmanager:open', { path }).catch(() => undefined);
      }
    },
    openSettings: () => {
      void app.commands.execute('settingeditor:open', { query: 'Agent' }).catch(() => undefined);
    }
  };
}
