/** A request for approval: the whole of what will happen, and the three answers. */

import * as React from 'react';
import type { Decision } from '../protocol';
import { isDiff } from '../view/diff';
import { withoutMode } from '../view/format';
import type { IApprovalState } from '../view/state';
import { Diff } from './diff';
import { LongText } from './parts';
import { useServices } from './services';

export function Approval(props: {
  approval: IApprovalState;
  void: boolean;
  /** Stands in the card of the only thing it is about, so that the verdict need not name it. */
  inCard?: boolean;
  answer: (decision: Decision, reason: string) => void;
}): JSX.Element {
  const { trans } = useServices();
  const { request, answer } = props.approval;
  if (answer !== null) {
    return <Verdict approval={props.approval} named={!props.inCard} />;
  }
  const title = withoutMode(request.title);
  return (
    <section className="jp-agent-approval" aria-label={trans.__('Approval needed: %1', title)}>
      <h4>{title}</h4>
      <Preview text={request.preview} />
      {props.void && <p className="jp-agent-quiet">{trans.__('The turn ended before this was answered; nothing happened.')}</p>}
      {!props.void && request.options.length > 0 && <Answers options={request.options} answer={props.answer} />}
    </section>
  );
}

/** Shown whole and as it is; a diff as a diff. */
function Preview(props: { text: string }): JSX.Element {
  // An approval must never hide a part of what it is about without saying so: LongText and Diff both name what is cut.
  return isDiff(props.text) ? <Diff text={props.text} /> : <LongText text={props.text} limit={20_000} />;
}

function Answers(props: { options: readonly string[]; answer: (decision: Decision, reason: string) => void }): JSX.Element {
  const { trans } = useServices();
  const [rejecting, setRejecting] = React.useState(false);
  const [reason, setReason] = React.useState('');
  const [sent, setSent] = React.useState(false);
  const field = React.useRef<HTMLInputElement>(null);
  React.useEffect(() => {
    if (rejecting) {
      field.current?.focus();
    }
  }, [rejecting]);
  const send = (decision: Decision): void => {
    setSent(true);
    // When the connection broke meanwhile, the buttons come back.
    window.setTimeout(() => setSent(false), 3000);
    props.answer(decision, decision === 'reject' ? reason : '');
  };
  if (rejecting) {
    return (
      <form
        className="jp-agent-answers"
        onSubmit={event => {
          event.preventDefault();
          send('reject');
        }}
      >
        <input
          ref={field}
          className="jp-agent-input"
          value={reason}
          placeholder={trans.__('Why not, or what instead? (optional)')}
          aria-label={trans.__('Reason for rejecting')}
          onChange={event => setReason(event.target.value)}
          onKeyDown={event => {
            if (event.key === 'Escape') {
              setRejecting(false);
            }
          }}
        />
        <button type="submit" className="jp-agent-button jp-mod-reject" disabled={sent}>
          {trans.__('Reject')}
        </button>
      </form>
    );
  }
  return (
    <div className="jp-agent-answers">
      <button type="button" className="jp-agent-button jp-mod-accept" disabled={sent} onClick={() => send('once')}>
        {trans.__('Approve')}
      </button>
      <button type="button" className="jp-agent-button" disabled={sent} onClick={() => setRejecting(true)}>
        {trans.__('Reject…')}
      </button>
      {props.options.includes('always') && (
        <button
          type="button"
          className="jp-agent-button jp-mod-quiet"
          disabled={sent}
          title={trans.__('Approve this and the like for the rest of this conversation')}
          onClick={() => send('always')}
        >
          {trans.__('Always')}
        </button>
      )}
    </div>
  );
}

function Verdict(props: { approval: IApprovalState; named: boolean }): JSX.Element {
  const { trans } = useServices();
  const { request, answer } = props.approval;
  const { decision, by, reason } = answer!;
  const words = {
    once: by === 'flag' ? trans.__('Approved in advance') : trans.__('Approved'),
    always: trans.__('Approved for this conversation'),
    reject: by === 'headless' ? trans.__('Not approved: nobody could be asked') : trans.__('Rejected')
  };
  return (
    <div className={`jp-agent-verdict jp-mod-${decision === 'reject' ? 'rejected' : 'approved'}`}>
      <span aria-hidden="true">{decision === 'reject' ? '✕' : '✓'}</span> {words[decision]}
      {props.named && <span className="jp-agent-quiet"> — {withoutMode(request.title)}</span>}
      {reason && by !== 'headless' && <span className="jp-agent-quiet">: {reason}</span>}
    </div>
  );
}

/** A question of the agent to the person. */
export function Question(props: {
  question: { id: string; text: string; choices: string[] };
  answer: (text: string) => void;
}): JSX.Element {
  const { trans } = useServices();
  const [text, setText] = React.useState('');
  return (
    <section className="jp-agent-approval" aria-label={trans.__('The agent asks')}>
      <h4>{props.question.text}</h4>
      <div className="jp-agent-answers">
        {props.question.choices.map(choice => (
          <button key={choice} type="button" className="jp-agent-button" onClick={() => props.answer(choice)}>
            {choice}
          </button>
        ))}
      </div>
      <form
        className="jp-agent-answers"
        onSubmit={event => {
          event.preventDefault();
          if (text.trim()) {
            props.answer(text.trim());
          }
        }}
      >
        <input
          className="jp-agent-input"
          value={text}
          placeholder={trans.__('Your answer')}
          aria-label={trans.__('Your answer')}
          onChange={event => setText(event.target.value)}
        />
        <button type="submit" className="jp-agent-button jp-mod-accept" disabled={!text.trim()}>
          {trans.__('Answer')}
        </button>
      </form>
    </section>
  );
}
