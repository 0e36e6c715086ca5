/** The sidebar: header, transcript or empty state, changes to review, message field. */

import { addIcon, historyIcon, settingsIcon } from '@jupyterlab/ui-components';
import * as React from 'react';
import type { ISnapshot } from '../client/conversation';
import type { Mode } from '../protocol';
import { Command, commandHelp, parseCommand } from '../view/commands';
import { EMPTY } from '../view/state';
import { Bench } from './bench';
import { ChangeBar } from './changeBar';
import { Composer, IDraft } from './composer';
import { Empty } from './empty';
import { History } from './history';
import { warmUp } from './markdown';
import { Meter } from './meter';
import { IconButton } from './parts';
import { ModelPicker, ModePicker } from './pickers';
import { useServices } from './services';
import { Transcript } from './transcript';

const NOTHING: ISnapshot = {
  view: EMPTY,
  status: null,
  link: 'open',
  problem: '',
  sending: [],
  running: false
};
const NO_DRAFT: IDraft = { text: '', attachments: [] };

/** How the rest of the extension reaches the open panel. */
export interface IPanelHandle {
  focus(): void;
  /** Puts a draft into the field; `send` sends it at once. */
  compose(draft: IDraft, send: boolean): void;
}

export function Panel(props: { handle: (handle: IPanelHandle | null) => void }): JSX.Element {
  const services = useServices();
  const { store, trans, work, actions, options } = services;
  const state = React.useSyncExternalStore(store.subscribe, store.getSnapshot);
  const conversation = state.conversation;
  const snapshot = React.useSyncExternalStore(
    conversation?.subscribe ?? noSubscription,
    conversation?.getSnapshot ?? nothing
  );
  const [draft, setDraft] = useDraft();
  const [pickedMode, setPickedMode] = React.useState<Mode>('review');
  const [pickedModel, setPickedModel] = React.useState('');
  const [showHistory, setShowHistory] = React.useState(false);
  const [help, setHelp] = React.useState(false);
  const field = React.useRef<HTMLTextAreaElement>(null);
  const mode = snapshot.status?.mode ?? pickedMode;

  const run = (command: Command): void => {
    switch (command.name) {
      case 'new':
        return store.close();
      case 'history':
        return setShowHistory(true);
      case 'help':
        return setHelp(true);
      case 'settings':
        return actions.openSettings();
      case 'stop':
        return conversation?.stop();
      case 'undo': {
        const turn = [...snapshot.view.turns].reverse().find(candidate => candidate.changes.length > 0);
        return turn ? conversation?.undo(turn.turn, false) : undefined;
      }
      case 'mode':
        return changeMode(command.mode);
      case 'model':
        return changeModel(command.model);
    }
  };
  const changeMode = (next: Mode): void => {
    setPickedMode(next);
    conversation?.setMode(next);
  };
  const changeModel = (next: string): void => {
    setPickedModel(next);
    conversation?.setModel(next);
  };
  const send = (what: IDraft): void => {
    const text = what.text.trim();
    if (!text && what.attachments.length === 0) {
      return;
    }
    const command = what.attachments.length === 0 ? parseCommand(text) : null;
    setDraft(NO_DRAFT);
    setHelp(false);
    if (command) {
      run(command);
      return;
    }
    const wanted = {
      notebook: work.notebook,
      mode: pickedMode,
      model: pickedModel
    };
    const withheld = { no_outputs: !options.sendOutputs, no_variables: !options.sendVariables };
    void store.conversationFor(wanted).then(target => {
      if (target === null) {
        setDraft(what);
      } else {
        target.send(text, what.attachments, withheld);
      }
    });
  };

  const latest = React.useRef({ send, setDraft });
  latest.current = { send, setDraft };
  React.useEffect(() => {
    props.handle({
      focus: () => field.current?.focus(),
      compose: (what, now) => {
        if (now) {
          latest.current.send(what);
        } else {
          latest.current.setDraft(what);
          field.current?.focus();
        }
      }
    });
    return () => {
      props.handle(null);
    };
  }, []);

  const isEmpty = snapshot.view.turns.length === 0 && snapshot.sending.length === 0;
  return (
    <div className="jp-agent-panel">
      <header className="jp-agent-header">
        <h2 title={snapshot.status?.title}>{snapshot.status?.title || trans.__('Agent')}</h2>
        <Meter totals={snapshot.view.totals} />
        <IconButton icon={addIcon} label={trans.__('New conversation')} onClick={() => store.close()} />
        <IconButton
          icon={historyIcon}
          label={trans.__('Earlier conversations')}
          expanded={showHistory}
          onClick={() => setShowHistory(!showHistory)}
        />
        <IconButton icon={settingsIcon} label={trans.__('Settings')} onClick={actions.openSettings} />
      </header>
      {showHistory && (
        <History entries={state.history} current={conversation?.id ?? ''} onClose={() => setShowHistory(false)} />
      )}
      <Banner snapshot={snapshot} problem={state.problem} />
      {isEmpty || conversation === null ? (
        <Empty models={state.models} onPick={text => latest.current.setDraft({ ...draft, text })} />
      ) : (
        <Transcript key={`transcript ${conversation.id}`} conversation={conversation} snapshot={snapshot} />
      )}
      {help && <Help onClose={() => setHelp(false)} />}
      {conversation && <ChangeBar key={`changes ${conversation.id}`} conversation={conversation} snapshot={snapshot} />}
      <Composer
        draft={draft}
        onDraft={setDraft}
        running={snapshot.running}
        onSend={() => send(draft)}
        onStop={() => conversation?.stop()}
        field={field}
      >
        <ModePicker mode={mode} onChange={changeMode} />
        <ModelPicker models={state.models} model={snapshot.status?.model || pickedModel} onChange={changeModel} />
      </Composer>
      <Bench onSeen={bench => warmUp(bench, services)} />
    </div>
  );
}

const noSubscription = (): (() => void) => () => undefined;
const nothing = (): ISnapshot => NOTHING;

/** The draft outlives the panel's drawing and a reload of the page; images are not kept across a reload. */
function useDraft(): [IDraft, (draft: IDraft) => void] {
  const key = 'jupyter-agent:draft';
  const [draft, setDraft] = React.useState<IDraft>(() => ({
    text: window.sessionStorage.getItem(key) ?? '',
    attachments: []
  }));
  const change = React.useCallback((next: IDraft) => {
    setDraft(next);
    try {
      window.sessionStorage.setItem(key, next.text);
    } catch {
      // A full storage only means that the draft does not survive a reload.
    }
  }, []);
  return [draft, change];
}

function Banner(props: { snapshot: ISnapshot; problem: string }): JSX.Element | null {
  const { trans, store } = useServices();
  const { link, problem } = props.snapshot;
  const conversation = store.getSnapshot().conversation;
  const text = props.problem || problem;
  if (link === 'waiting' || link === 'lost') {
    return (
      <div className="jp-agent-banner jp-mod-warning" role="status">
        <span>{problem || trans.__('The connection to the server is broken. The agent works on; trying again…')}</span>
        <button type="button" className="jp-agent-link" onClick={() => conversation?.retry()}>
          {trans.__('Try now')}
        </button>
        {link === 'lost' && (
          <button type="button" className="jp-agent-link" onClick={() => store.close()}>
            {trans.__('New conversation')}
          </button>
        )}
      </div>
    );
  }
  if (!text) {
    return null;
  }
  return (
    <div className="jp-agent-banner jp-mod-error" role="alert">
      <span>{text}</span>
      <button
        type="button"
        className="jp-agent-link"
        onClick={() => {
          store.clearProblem();
          conversation?.clearProblem();
        }}
      >
        {trans.__('Dismiss')}
      </button>
    </div>
  );
}

function Help(props: { onClose: () => void }): JSX.Element {
  const { trans } = useServices();
  return (
    <section className="jp-agent-card jp-agent-help" aria-label={trans.__('Help')}>
      <dl>
        {commandHelp(word => trans.__(word)).map(entry => (
          <React.Fragment key={entry.label}>
            <dt>
              <code>{entry.label}</code>
            </dt>
            <dd>{entry.detail}</dd>
          </React.Fragment>
        ))}
        <dt>
          <code>@</code>
        </dt>
        <dd>{trans.__('Mention a cell, file, variable, the selection or the last error')}</dd>
      </dl>
      <button type="button" className="jp-agent-link" onClick={props.onClose}>
        {trans.__('Close')}
      </button>
    </section>
  );
}
