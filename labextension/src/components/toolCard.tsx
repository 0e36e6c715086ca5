/** One tool call: a line that says what and how it went; opened, its arguments, output and differences. */

import * as React from 'react';
import type { Decision } from '../protocol';
import { duration } from '../view/format';
import type { IApprovalState, IToolItem } from '../view/state';
import { argumentParts, IImage, resultImages, resultLine, resultText, todoItems, toolLine } from '../view/tools';
import { Approval } from './approval';
import { Diff } from './diff';
import { LongText } from './parts';
import { useServices } from './services';

export const ToolCard = React.memo(function ToolCard(props: {
  tool: IToolItem;
  /** The turn has ended: what has no result was interrupted. */
  over: boolean;
  answer: (approval: IApprovalState, decision: Decision, reason: string) => void;
}): JSX.Element {
  const { trans, options } = useServices();
  const { tool } = props;
  const [open, setOpen] = React.useState(options.openToolCards);
  const [verb, object] = toolLine(tool.name, tool.arguments, (text, ...values) => trans.__(text, ...values));
  const status = statusOf(tool, props.over);
  const words = {
    running: trans.__('running'),
    ok: trans.__('done'),
    error: trans.__('failed'),
    lost: trans.__('interrupted')
  };
  return (
    <div className={`jp-agent-tool jp-mod-${status} ${tool.approvals.some(({ answer }) => answer === null) ? 'jp-mod-asked' : ''}`}>
      <button type="button" className="jp-agent-toolHead" aria-expanded={open} onClick={() => setOpen(!open)}>
        <span className="jp-agent-toolStatus" aria-label={words[status]} role="img" />
        <span className="jp-agent-toolVerb">{verb}</span>
        {object && <code className="jp-agent-toolObject">{object}</code>}
        <span className="jp-agent-toolTime">{tool.result && tool.result.seconds >= 0.1 ? duration(tool.result.seconds) : ''}</span>
      </button>
      {status === 'running' && tool.progress && <Progress text={tool.progress} fraction={tool.fraction} />}
      {tool.name === 'todo' && <TodoList items={todoItems(tool.arguments)} />}
      {status === 'error' && !open && <div className="jp-agent-toolError">{resultLine(tool.result!)}</div>}
      {tool.approvals.map(approval => (
        <Approval
          key={approval.request.id}
          approval={approval}
          void={props.over}
          inCard={tool.approvals.length === 1}
          answer={(decision, reason) => props.answer(approval, decision, reason)}
        />
      ))}
      {tool.result && resultImages(tool.result).map((image, index) => <ResultImage key={index} image={image} />)}
      {open && <Body tool={tool} />}
    </div>
  );
});

function statusOf(tool: IToolItem, over: boolean): 'running' | 'ok' | 'error' | 'lost' {
  if (tool.result) {
    return tool.result.is_error ? 'error' : 'ok';
  }
  return over ? 'lost' : 'running';
}

function Progress(props: { text: string; fraction: number | null }): JSX.Element {
  return (
    <div className="jp-agent-progress">
      {props.fraction !== null && <progress max={1} value={props.fraction} />}
      <span>{props.text}</span>
    </div>
  );
}

function Body(props: { tool: IToolItem }): JSX.Element {
  const { trans } = useServices();
  const { tool } = props;
  const output = tool.result ? resultText(tool.result) : '';
  const parts = argumentParts(tool.arguments);
  return (
    <div className="jp-agent-toolBody">
      {tool.changes.filter(change => change.diff).map(change => (
        <Diff key={change.seq} text={change.diff} />
      ))}
      {parts.length > 0 && <h5>{trans.__('Arguments')}</h5>}
      {parts.map(part =>
        part.block ? (
          <div key={part.name}>
            <div className="jp-agent-argument">{part.name}</div>
            <LongText text={part.value} />
          </div>
        ) : (
          <div key={part.name} className="jp-agent-argument">
            {part.name} <code>{part.value}</code>
          </div>
        )
      )}
      {output && (
        <>
          <h5>{trans.__('Output')}</h5>
          <LongText text={output} />
        </>
      )}
    </div>
  );
}

function ResultImage(props: { image: IImage }): JSX.Element {
  const { trans } = useServices();
  const source = `data:${props.image.mediaType};base64,${props.image.data}`;
  return <img className="jp-agent-resultImage" src={source} alt={trans.__('Image that the tool returned')} />;
}

function TodoList(props: { items: { text: string; status: string }[] }): JSX.Element {
  const { trans } = useServices();
  const words: Record<string, string> = { done: trans.__('done'), doing: trans.__('in progress') };
  return (
    <ul className="jp-agent-todo">
      {props.items.map((item, index) => {
        const status = /done|complete/.test(item.status) ? 'done' : /progress|doing/.test(item.status) ? 'doing' : 'open';
        return (
          <li key={index} className={`jp-mod-${status}`}>
            <span className="jp-agent-todoMark" role="img" aria-label={words[status] ?? trans.__('open')} />
            {item.text}
          </li>
        );
      })}
    </ul>
  );
}
