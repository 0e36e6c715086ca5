/** What the components need of JupyterLab, handed down through React's context. */

import type { IRenderMimeRegistry } from '@jupyterlab/rendermime';
import type { TranslationBundle } from '@jupyterlab/translation';
import * as React from 'react';
import type { Store } from '../client/store';
import type { WorkContext } from '../context';

export interface IActions {
  /** Open a file of the workspace. */
  openPath(path: string): void;
  /** Put code into a new cell below the active one of the current notebook. */
  insertCell(code: string): void;
  /** Scroll to a cell of an open notebook, without taking the focus. */
  showCell(path: string, cell: string): void;
  openSettings(): void;
}

export interface IServices {
  store: Store;
  trans: TranslationBundle;
  /** A registry whose sanitiser is ours. */
  rendermime: IRenderMimeRegistry;
  work: WorkContext;
  actions: IActions;
  options: IOptions;
}

/** From JupyterLab's settings. */
export interface IOptions {
  sendWithEnter: boolean;
  showThinking: boolean;
  openToolCards: boolean;
  sendOutputs: boolean;
  sendVariables: boolean;
}

export const ServicesContext = React.createContext<IServices | null>(null);

export function useServices(): IServices {
  const services = React.useContext(ServicesContext);
  if (services === null) {
    throw new Error('The agent panel was drawn outside of its context.');
  }
  return services;
}
