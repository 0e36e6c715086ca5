/** Which conversation the panel shows, the list of all, and the models; the panel's only state beside its drafts. */

import { Signal } from '@lumino/signaling';
import type { IConversationEntry, IModels, INewConversation } from '../protocol';
import { Api, ApiError } from './api';
import { Conversation } from './conversation';

export interface IPanelState {
  conversation: Conversation | null;
  models: IModels | null;
  history: readonly IConversationEntry[] | null;
  /** A sentence about what failed outside of a conversation, or empty. */
  problem: string;
}

export class Store {
  constructor(
    readonly api: Api,
    /** Where this page remembers which conversation was shown. */
    private readonly memory: Storage,
    private readonly key: string
  ) {}

  readonly changed = new Signal<this, void>(this);

  readonly subscribe = (listener: () => void): (() => void) => {
    this.changed.connect(listener);
    return () => {
      this.changed.disconnect(listener);
    };
  };

  readonly getSnapshot = (): IPanelState => this.state;

  /** Opens what was shown before the reload, and asks for the models. */
  async start(): Promise<void> {
    const remembered = this.memory.getItem(this.key);
    if (remembered) {
      this.open(remembered);
    }
    await this.refreshModels();
  }

  async refreshModels(): Promise<void> {
    await this.guarded(async () => this.update({ models: await this.api.models() }));
  }

  async acceptOffer(address: string): Promise<void> {
    await this.guarded(async () => this.update({ models: await this.api.acceptOffer(address) }));
  }

  open(id: string): void {
    this.state.conversation?.dispose();
    this.memory.setItem(this.key, id);
    this.update({ conversation: new Conversation(id, this.api), problem: '' });
  }

  /** Back to the empty panel; the conversation goes on on the server and stays in the history. */
  close(): void {
    this.state.conversation?.dispose();
    this.memory.removeItem(this.key);
    this.update({ conversation: null, problem: '' });
  }

  /** The conversation shown, or a new one (`notebook` may be ""); null when that failed. */
  async conversationFor(options: INewConversation): Promise<Conversation | null> {
    if (this.state.conversation === null) {
      await this.guarded(async () => this.open(await this.api.create(options)));
    }
    return this.state.conversation;
  }

  async loadHistory(query = ''): Promise<void> {
    await this.guarded(async () => this.update({ history: await this.api.conversations(query) }));
  }

  async remove(id: string): Promise<void> {
    await this.guarded(async () => {
      await this.api.remove(id);
      if (this.state.conversation?.id === id) {
        this.close();
      }
      this.update({ history: this.state.history?.filter(entry => entry.id !== id) ?? null });
    });
  }

  clearProblem(): void {
    this.update({ problem: '' });
  }

  private async guarded(action: () => Promise<void>): Promise<void> {
    try {
      await action();
    } catch (error) {
      this.update({ problem: error instanceof ApiError ? error.message : String(error) });
    }
  }

  private update(changes: Partial<IPanelState>): void {
    this.state = { ...this.state, ...changes };
    this.changed.emit();
  }

  private state: IPanelState = { conversation: null, models: null, history: null, problem: '' };
}
