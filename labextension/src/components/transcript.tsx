/** The turns, the newest at the end; follows the end while the reader is there, and never moves a reader who is not. */

import * as React from 'react';
import type { Conversation, ISnapshot } from '../client/conversation';
import { pendingApprovals } from '../view/state';
import { Question } from './approval';
import { useServices } from './services';
import { ITurnActions, Turn, UserMessage } from './turn';

const SHOWN = 30;
const NEAR_END = 48;
/** Milliseconds for which a scroll may come from what a reader did, or from text that grew. */
const RECENT = 1000;
const INPUT = ['wheel', 'touchmove', 'pointerdown', 'keydown', 'focusin'];

export function Transcript(props: { conversation: Conversation; snapshot: ISnapshot }): JSX.Element {
  const { trans } = useServices();
  const { conversation, snapshot } = props;
  const { view, sending, status } = snapshot;
  const [shown, setShown] = React.useState(SHOWN);
  const { scroller, content, away, jump } = useFollowing();
  const actions = React.useMemo<ITurnActions>(
    () => ({
      answer: (approval, decision, reason) => conversation.answer(approval, decision, reason),
      restore: turn => conversation.undo(turn, true)
    }),
    [conversation]
  );
  const turns = view.turns.slice(-shown);
  const last = view.turns[view.turns.length - 1];
  const changedFrom = view.turns.find(turn => turn.changes.length > 0)?.turn ?? Infinity;
  const lastChanged = [...view.turns].reverse().find(turn => turn.changes.length > 0)?.turn ?? -1;
  return (
    <div className="jp-agent-transcriptFrame">
      <div ref={scroller} className="jp-agent-transcript" tabIndex={0} role="log" aria-live="off" aria-label={trans.__('Conversation')}>
        <div ref={content}>
          {turns.length < view.turns.length && (
            <button className="jp-agent-link jp-agent-earlier" onClick={() => setShown(shown + SHOWN)}>
              {trans.__('Show earlier turns (%1)', String(view.turns.length - turns.length))}
            </button>
          )}
          {turns.map(turn => (
            <Turn
              key={turn.turn}
              turn={turn}
              streaming={view.streaming?.turn === turn.turn ? view.streaming : null}
              working={snapshot.running && turn === last && turn.stop === null}
              canRestore={changedFrom !== Infinity && turn.turn <= lastChanged && !snapshot.running}
              actions={actions}
            />
          ))}
          {status?.question && (
            <Question
              key={status.question.id}
              question={status.question}
              answer={text => conversation.answerQuestion(status.question!.id, text)}
            />
          )}
          {sending.map(entry => (
            <UserMessage
              key={entry.id}
              item={entry}
              pending={snapshot.link === 'open' ? trans.__('Sending…') : trans.__('Will be sent when the server is back')}
            />
          ))}
        </div>
      </div>
      {away && (
        <button className="jp-agent-jump" onClick={jump}>
          ↓ {trans.__('Latest')}
        </button>
      )}
      <Announcer snapshot={snapshot} />
    </div>
  );
}

/** Keeps the end in view while it was in view. */
function useFollowing(): {
  scroller: React.RefObject<HTMLDivElement>;
  content: React.RefObject<HTMLDivElement>;
  away: boolean;
  jump: () => void;
} {
  const scroller = React.useRef<HTMLDivElement>(null);
  const content = React.useRef<HTMLDivElement>(null);
  const following = React.useRef(true);
  const [away, setAway] = React.useState(false);
  const follow = React.useCallback((whether: boolean) => {
    following.current = whether;
    // The browser holds a reader's place when something above changes its height; at the end, that place is the end.
    scroller.current!.style.overflowAnchor = whether ? 'none' : '';
    setAway(!whether);
  }, []);
  const jump = React.useCallback(() => {
    follow(true);
    scroller.current!.scrollTo({ top: scroller.current!.scrollHeight });
  }, [follow]);
  React.useEffect(() => {
    const element = scroller.current!;
    let top = 0;
    let grown = 0;
    let touched = -RECENT;
    const onInput = (): void => {
      touched = performance.now();
    };
    const onScroll = (): void => {
      const now = performance.now();
      const isGrowing = now - grown < RECENT;
      const isNearEnd = element.scrollHeight - element.scrollTop - element.clientHeight < NEAR_END;
      const isUp = element.scrollTop < top;
      top = element.scrollTop;
      if (!isUp) {
        follow(following.current || isNearEnd);
      } else if (now - touched < RECENT || !isGrowing) {
        // While text grows the browser scrolls up too, where a block turns out lower than thought: readers use their hands.
        follow(isNearEnd && !isGrowing);
      }
    };
    const observer = new ResizeObserver(() => {
      grown = performance.now();
      if (following.current) {
        element.scrollTop = element.scrollHeight;
        top = element.scrollTop;
      }
    });
    follow(true);
    observer.observe(content.current!);
    observer.observe(element);
    const listening = new AbortController();
    const options = { passive: true, signal: listening.signal };
    element.addEventListener('scroll', onScroll, options);
    INPUT.forEach(type => element.addEventListener(type, onInput, options));
    return () => {
      observer.disconnect();
      listening.abort();
    };
  }, [follow]);
  return { scroller, content, away, jump };
}

/** For screen readers: what needs the person, and the end of a turn; not every word of the stream. */
function Announcer(props: { snapshot: ISnapshot }): JSX.Element {
  const { trans } = useServices();
  const { view, running } = props.snapshot;
  const pending = pendingApprovals(view);
  const last = view.turns[view.turns.length - 1];
  let text = '';
  if (pending.length > 0) {
    text = trans.__('Approval needed: %1', pending[0]!.request.title);
  } else if (running) {
    text = trans.__('The agent is working');
  } else if (last?.stop) {
    const reply = [...last.items].reverse().find(item => item.kind === 'reply');
    text = reply?.kind === 'reply' ? reply.text.slice(0, 1000) : last.stop.summary;
  }
  return (
    <div className="jp-agent-announcer" role="status" aria-live="polite">
      {text}
    </div>
  );
}
