/** The message field: mentions, commands, images, suggestions of context; Enter sends, and a draft survives everything. */

import { addIcon, closeIcon, stopIcon } from '@jupyterlab/ui-components';
import * as React from 'react';
import type { IReference } from '../context';
import type { IAttachment } from '../protocol';
import { commandHelp } from '../view/commands';
import { ICandidate, ITrigger, rank, triggerAt } from '../view/mentions';
import { sendIcon } from './icons';
import { readImages } from './images';
import { IconButton } from './parts';
import { useServices } from './services';
import { SuggestionList } from './suggestions';

export interface IDraft {
  text: string;
  attachments: IAttachment[];
}

export function Composer(props: {
  draft: IDraft;
  onDraft: (draft: IDraft) => void;
  running: boolean;
  onSend: () => void;
  onStop: () => void;
  field: React.RefObject<HTMLTextAreaElement>;
  children: React.ReactNode;
}): JSX.Element {
  const { trans, options } = useServices();
  const { draft, field } = props;
  const [problem, setProblem] = React.useState('');
  const cursor = React.useRef<number | null>(null);
  const popup = usePopup(draft.text, field, choose);
  useAutoHeight(field, draft.text);

  function change(changes: Partial<IDraft>): void {
    props.onDraft({ ...draft, ...changes });
  }

  function choose(trigger: ITrigger, chosen: ICandidate): void {
    const reference = chosen as Partial<IReference>;
    const inserted = trigger.sign === '/' ? `${chosen.label} ` : `@${chosen.label.replace(/\s+/g, '-')} `;
    const isFolder = chosen.kind === 'folder';
    const text = draft.text.slice(0, trigger.start) + (isFolder ? inserted.trimEnd() : inserted) + draft.text.slice(trigger.end);
    const attachments = reference.attachment && !isFolder ? [...draft.attachments, reference.attachment()] : draft.attachments;
    cursor.current = trigger.start + inserted.length - (isFolder ? 1 : 0);
    change({ text, attachments });
  }

  // Before the next key can come, or it would land in the wrong place.
  React.useLayoutEffect(() => {
    if (cursor.current !== null) {
      field.current?.setSelectionRange(cursor.current, cursor.current);
      cursor.current = null;
      popup.update();
    }
  }, [draft.text]);

  async function addFiles(files: readonly File[]): Promise<void> {
    const { images, problem: because } = await readImages(files, trans);
    setProblem(because);
    if (images.length > 0) {
      change({ attachments: [...draft.attachments, ...images] });
    }
  }

  function onKeyDown(event: React.KeyboardEvent): void {
    if (popup.onKey(event)) {
      return;
    }
    const plain = !event.shiftKey && !event.altKey;
    const wantsSend = options.sendWithEnter ? plain : plain && (event.ctrlKey || event.metaKey);
    // While an input method composes a character, Enter belongs to it.
    if (event.key === 'Enter' && wantsSend && !event.nativeEvent.isComposing) {
      event.preventDefault();
      props.onSend();
    }
  }

  const canSend = draft.text.trim().length > 0 || draft.attachments.length > 0;
  return (
    <div
      className="jp-agent-composer"
      onDragOver={event => event.preventDefault()}
      onDrop={event => {
        if (event.dataTransfer.files.length > 0) {
          event.preventDefault();
          void addFiles(Array.from(event.dataTransfer.files));
        }
      }}
    >
      {popup.node}
      <Attachments attachments={draft.attachments} onChange={attachments => change({ attachments })} />
      {problem && <div className="jp-agent-note jp-mod-warning">{problem}</div>}
      <textarea
        ref={field}
        className="jp-agent-field"
        rows={1}
        value={draft.text}
        placeholder={props.running ? trans.__('Add to what it is working on…') : trans.__('Ask, or say what to do…')}
        aria-label={trans.__('Message to the agent')}
        {...popup.aria}
        onChange={event => change({ text: event.target.value })}
        onSelect={popup.update}
        onKeyDown={onKeyDown}
        onPaste={event => {
          const files = Array.from(event.clipboardData.files);
          if (files.length > 0) {
            event.preventDefault();
            void addFiles(files);
          }
        }}
      />
      <div className="jp-agent-composerBar">
        <ImageButton onFiles={files => void addFiles(files)} />
        {props.children}
        <span className="jp-agent-spring" />
        {props.running && (
          <IconButton icon={stopIcon} className="jp-agent-stop" label={trans.__('Stop')} onClick={props.onStop} />
        )}
        <IconButton
          icon={sendIcon}
          className="jp-agent-send"
          label={trans.__('Send')}
          disabled={!canSend}
          onClick={props.onSend}
        />
      </div>
    </div>
  );
}

/** The list of mentions or commands above the field, driven by the cursor. */
function usePopup(
  text: string,
  field: React.RefObject<HTMLTextAreaElement>,
  choose: (trigger: ITrigger, chosen: ICandidate) => void
): { node: React.ReactNode; aria: object; update: () => void; onKey: (event: React.KeyboardEvent) => boolean } {
  const { trans, work } = useServices();
  const [trigger, setTrigger] = React.useState<ITrigger | null>(null);
  const [found, setFound] = React.useState<ICandidate[]>([]);
  const [active, setActive] = React.useState(0);
  const dismissed = React.useRef('');
  const update = (): void => {
    const element = field.current;
    const next = element && element.selectionStart === element.selectionEnd ? triggerAt(element.value, element.selectionStart) : null;
    const key = next ? `${next.sign}${next.start}` : '';
    if (key !== dismissed.current) {
      dismissed.current = '';
    }
    setTrigger(next && dismissed.current !== key ? next : null);
  };
  React.useEffect(update, [text, field]);
  const folder = trigger?.sign === '@' ? trigger.query.slice(0, trigger.query.lastIndexOf('/') + 1) : '';
  const [pool, setPool] = React.useState<ICandidate[]>([]);
  React.useEffect(() => {
    let current = true;
    if (trigger?.sign === '/') {
      setPool(commandHelp(word => trans.__(word)));
    } else if (trigger) {
      void work.candidates(folder).then(candidates => {
        if (current) {
          setPool(candidates);
        }
      });
    } else {
      setPool([]);
    }
    return () => {
      current = false;
    };
  }, [trigger?.sign, trigger?.start, folder]);
  React.useEffect(() => {
    const query = trigger?.sign === '/' ? `/${trigger.query}` : (trigger?.query ?? '');
    setFound(trigger ? rank(pool, query.replace(/-/g, ' ').length < 1 ? '' : query) : []);
    setActive(0);
  }, [pool, trigger?.query]);
  const isOpen = trigger !== null && found.length > 0;
  const close = (): void => {
    dismissed.current = trigger ? `${trigger.sign}${trigger.start}` : '';
    setTrigger(null);
  };
  const onKey = (event: React.KeyboardEvent): boolean => {
    if (!isOpen) {
      return false;
    }
    const step = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0;
    const exact = trigger.sign === '/' && found[active]?.label === `/${trigger.query}`;
    if (step !== 0) {
      setActive((active + step + found.length) % found.length);
    } else if (event.key === 'Tab' || (event.key === 'Enter' && !exact)) {
      choose(trigger, found[active]!);
      setTrigger(null);
    } else if (event.key === 'Escape') {
      close();
    } else {
      return false;
    }
    event.preventDefault();
    event.stopPropagation();
    return true;
  };
  const node = isOpen ? (
    <SuggestionList found={found} active={active} onChoose={chosen => choose(trigger, chosen)} />
  ) : null;
  const aria = isOpen
    ? { 'aria-expanded': true, 'aria-controls': 'jp-agent-suggestions', 'aria-activedescendant': `jp-agent-suggestion-${active}` }
    : {};
  return { node, aria: { role: 'combobox', 'aria-autocomplete': 'list', ...aria }, update, onKey };
}

function useAutoHeight(field: React.RefObject<HTMLTextAreaElement>, text: string): void {
  React.useLayoutEffect(() => {
    const element = field.current;
    if (element) {
      element.style.height = 'auto';
      element.style.height = `${Math.min(element.scrollHeight, 260)}px`;
    }
  }, [field, text]);
}

function Attachments(props: { attachments: IAttachment[]; onChange: (attachments: IAttachment[]) => void }): JSX.Element {
  const { trans, work } = useServices();
  const [suggestions, setSuggestions] = React.useState<IReference[]>([]);
  React.useEffect(() => {
    let timer = 0;
    const refresh = (): void => {
      window.clearTimeout(timer);
      timer = window.setTimeout(() => setSuggestions(work.suggestions()), 150);
    };
    refresh();
    work.changed.connect(refresh);
    return () => {
      window.clearTimeout(timer);
      work.changed.disconnect(refresh);
    };
  }, [work]);
  const { attachments } = props;
  const offered = suggestions.filter(
    suggestion => !attachments.some(attachment => attachment.kind === suggestion.kind && attachment.name === suggestion.attachment().name)
  );
  return (
    <div className="jp-agent-chips" role="group" aria-label={trans.__('Sent along')}>
      {attachments.map((attachment, index) => (
        <span key={index} className="jp-agent-chip">
          {attachment.type === 'image' && attachment.data && (
            <img src={`data:${attachment.media_type};base64,${attachment.data}`} alt="" />
          )}
          <span className="jp-agent-chipText" title={attachment.name}>
            {attachment.name}
          </span>
          <IconButton
            icon={closeIcon}
            label={trans.__('Remove %1', attachment.name)}
            onClick={() => props.onChange(attachments.filter((_, other) => other !== index))}
          />
        </span>
      ))}
      {offered.map(suggestion => (
        <button
          key={`${suggestion.kind} ${suggestion.label}`}
          type="button"
          className="jp-agent-chip jp-mod-offered"
          title={`${trans.__('Send along')}: ${suggestion.detail}`}
          onClick={() => props.onChange([...attachments, suggestion.attachment()])}
        >
          + {suggestion.kind === 'error' ? suggestion.detail : suggestion.label}
        </button>
      ))}
    </div>
  );
}

function ImageButton(props: { onFiles: (files: File[]) => void }): JSX.Element {
  const { trans } = useServices();
  const input = React.useRef<HTMLInputElement>(null);
  return (
    <>
      <input
        ref={input}
        type="file"
        accept="image/png,image/jpeg,image/gif,image/webp"
        multiple
        hidden
        onChange={event => {
          props.onFiles(Array.from(event.target.files ?? []));
          event.target.value = '';
        }}
      />
      <IconButton icon={addIcon} label={trans.__('Add an image')} onClick={() => input.current?.click()} />
    </>
  );
}
