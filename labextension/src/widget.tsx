/** The sidebar as a widget of JupyterLab. */

import { ReactWidget } from '@jupyterlab/ui-components';
import * as React from 'react';
import { agentIcon } from './components/icons';
import { IPanelHandle, Panel } from './components/panel';
import { Boundary } from './components/parts';
import { IServices, ServicesContext } from './components/services';
import type { IDraft } from './components/composer';

export class AgentWidget extends ReactWidget {
  constructor(private services: IServices) {
    super();
    const { trans } = services;
    this.id = 'jupyter-agent-panel';
    this.addClass('jp-agent-widget');
    this.title.icon = agentIcon;
    this.title.caption = trans.__('Agent');
    this.node.setAttribute('role', 'region');
    this.node.setAttribute('aria-label', trans.__('Agent'));
  }

  /** Draws anew with other services (settings changed). */
  setServices(services: IServices): void {
    this.services = services;
    this.update();
  }

  focusField(): void {
    this.whenReady(handle => handle.focus());
  }

  compose(draft: IDraft, send: boolean): void {
    this.whenReady(handle => handle.compose(draft, send));
  }

  protected override render(): JSX.Element {
    return (
      <ServicesContext.Provider value={this.services}>
        <Boundary message={this.services.trans.__('The panel could not be drawn. Reload the page; nothing is lost.')}>
          <Panel handle={this.setHandle} />
        </Boundary>
      </ServicesContext.Provider>
    );
  }

  private readonly setHandle = (handle: IPanelHandle | null): void => {
    this.handle = handle;
    if (handle) {
      this.waiting.splice(0).forEach(action => action(handle));
    }
  };

  /** Now, or once the panel was drawn for the first time. */
  private whenReady(action: (handle: IPanelHandle) => void): void {
    if (this.handle) {
      action(this.handle);
    } else {
      this.waiting.push(action);
    }
  }

  private handle: IPanelHandle | null = null;
  private readonly waiting: ((handle: IPanelHandle) => void)[] = [];
}
