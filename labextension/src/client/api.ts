/** Our server's HTTP requests; every failure is an `ApiError` with a sentence for the person. */

import { URLExt } from '@jupyterlab/coreutils';
import { ServerConnection } from '@jupyterlab/services';
import type { IConversationEntry, IModels, INewConversation } from '../protocol';

export class ApiError extends Error {
  constructor(
    readonly status: number,
    message: string
  ) {
    super(message);
  }
}

export interface IVariable {
  name: string;
  type: string;
  shape: string;
}

export class Api {
  constructor(readonly settings: ServerConnection.ISettings) {}

  async conversations(query = ''): Promise<IConversationEntry[]> {
    const search = query ? `?query=${encodeURIComponent(query)}` : '';
    return (await this.request<{ conversations: IConversationEntry[] }>(`conversations${search}`)).conversations;
  }

  async create(options: INewConversation): Promise<string> {
    return (await this.request<{ id: string }>('conversations', 'POST', options)).id;
  }

  async conversation(id: string): Promise<IConversationEntry> {
    return this.request<IConversationEntry>(`conversations/${encodeURIComponent(id)}`);
  }

  async remove(id: string): Promise<void> {
    await this.request<object>(`conversations/${encodeURIComponent(id)}`, 'DELETE');
  }

  async models(): Promise<IModels> {
    return this.request<IModels>('models');
  }

  /** The person's word that the local server at `address` may be used. */
  async acceptOffer(address: string): Promise<IModels> {
    return this.request<IModels>('models', 'POST', { accept: address });
  }

  async variables(notebook: string): Promise<IVariable[]> {
    const search = `?notebook=${encodeURIComponent(notebook)}`;
    return (await this.request<{ variables: IVariable[] }>(`variables${search}`)).variables;
  }

  /** A sentence when this page cannot reach the conversation any more however often it tries, else null. */
  async diagnose(id: string): Promise<string | null> {
    try {
      await this.conversation(id);
      return null;
    } catch (error) {
      const known = error instanceof ApiError && [401, 403, 404].includes(error.status);
      return known ? (error as ApiError).message : null;
    }
  }

  /** A sentence when our server part cannot be reached at all and trying again is useless, else null. */
  async unreachable(): Promise<string | null> {
    try {
      await this.request<object>('conversations', 'HEAD');
      return null;
    } catch (error) {
      const known = error instanceof ApiError && [401, 403, 404].includes(error.status);
      return known ? (error as ApiError).message : null;
    }
  }

  private async request<T>(path: string, method = 'GET', body?: object): Promise<T> {
    const url = URLExt.join(this.settings.baseUrl, 'jupyter-agent', path);
    const init: RequestInit = { method };
    if (body !== undefined) {
      init.body = JSON.stringify(body);
    }
    let response: Response;
    try {
      response = await ServerConnection.makeRequest(url, init, this.settings);
    } catch {
      throw new ApiError(0, 'The Jupyter server does not answer. Check that it is still running.');
    }
    if (response.redirected && !response.headers.get('content-type')?.includes('json')) {
      throw new ApiError(403, EXPIRED);
    }
    const data = (await response.json().catch(() => ({}))) as { message?: string };
    if (!response.ok) {
      throw new ApiError(response.status, messageFor(response.status, data.message ?? ''));
    }
    return data as T;
  }
}

const EXPIRED = 'You are no longer signed in to this Jupyter server. Reload the page to sign in; nothing is lost.';

function messageFor(status: number, message: string): string {
  if (status === 401 || (status === 403 && !message)) {
    return EXPIRED;
  }
  if (status === 404 && !message) {
    return 'The agent is not running on this server. Install it with `pip install "jupyter-agent-live[lab]"` and restart.';
  }
  return message || `The Jupyter server answered with an error (${status}). Its log says more.`;
}
