/** What the person should hear of while the panel is not in sight: JupyterLab's own notifications. */

import { Notification } from '@jupyterlab/apputils';
import type { TranslationBundle } from '@jupyterlab/translation';
import type { Conversation } from '../client/conversation';
import type { Store } from '../client/store';
import type { AgentEvent, Level } from '../protocol';

/** Milliseconds for which a notification stays that asks for nothing. */
const SHOWN = 8000;
/** Characters of one notification. */
const LENGTH = 200;

export interface INoticeOptions {
  isVisible: () => boolean;
  show: () => void;
  trans: TranslationBundle;
}

/** Follows whichever conversation the panel holds; what happened before it was opened here is not told. */
export function tellWhenHidden(store: Store, options: INoticeOptions): void {
  const notices = new Notices(options);
  let followed: Conversation | null = null;
  store.changed.connect(() => {
    const { conversation } = store.getSnapshot();
    if (conversation !== followed) {
      followed = conversation;
      conversation?.arrived.connect((_, event) => notices.hear(event));
      conversation?.changed.connect(({ snapshot }) => notices.wonder(snapshot.status?.question ?? null));
    }
  });
}

class Notices {
  constructor(private readonly options: INoticeOptions) {}

  hear(event: AgentEvent): void {
    if (event.type === 'approval') {
      // Without an id all notifications would go, those of others too.
      Notification.dismiss(this.asked.get(event.id) ?? '');
      this.asked.delete(event.id);
    }
    if (this.options.isVisible()) {
      return;
    }
    const { trans } = this.options;
    if (event.type === 'approval_request') {
      this.asked.set(event.id, this.tell(trans.__('The agent asks: %1', event.title), 'warning', false));
    } else if (event.type === 'note') {
      this.tell(event.text, event.level);
    } else if (event.type === 'stop') {
      this.tell(event.summary || trans.__('The agent has ended.'), event.reason === 'error' ? 'error' : 'info');
    }
  }

  /** A question of the agent, or that there is none any more. */
  wonder(question: { id: string; text: string } | null): void {
    if ((question?.id ?? '') === this.question) {
      return;
    }
    Notification.dismiss(this.asked.get(this.question) ?? '');
    this.question = question?.id ?? '';
    if (question && !this.options.isVisible()) {
      this.asked.set(question.id, this.tell(question.text, 'warning', false));
    }
  }

  private tell(text: string, level: Level, autoClose: number | false = SHOWN): string {
    const shown = text.length > LENGTH ? `${text.slice(0, LENGTH)}…` : text;
    const { show, trans } = this.options;
    return Notification.emit(shown, level, {
      autoClose,
      actions: [{ label: trans.__('Show the Agent'), callback: show }]
    });
  }

  private question = '';
  private readonly asked = new Map<string, string>();
}
