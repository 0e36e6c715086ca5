/** A unified diff as a person reads it: line numbers, colour and a sign for every line, no colour needed to tell them apart. */

import * as React from 'react';
import { IDiffLine, parseDiff } from '../view/diff';
import { useServices } from './services';

const SHOWN = 400;
const SIGN = { add: '+', remove: '−', same: ' ' } as const;

export function Diff(props: { text: string; withNames?: boolean }): JSX.Element {
  const { trans } = useServices();
  const [all, setAll] = React.useState(false);
  const lines = React.useMemo(() => parseDiff(props.text), [props.text]);
  const shown = all ? lines : lines.slice(0, SHOWN);
  return (
    <div className="jp-agent-diff" role="group" aria-label={trans.__('Difference')} tabIndex={0}>
      {shown.map((line, index) => (
        <Line key={index} line={line} before={shown[index - 1]} named={props.withNames ?? true} />
      ))}
      {shown.length < lines.length && (
        <button className="jp-agent-link" onClick={() => setAll(true)}>
          {trans.__('Show %1 more lines', String(lines.length - shown.length))}
        </button>
      )}
    </div>
  );
}

function Line(props: { line: IDiffLine; before: IDiffLine | undefined; named: boolean }): JSX.Element | null {
  const { line } = props;
  if (line.kind === 'file') {
    // A note right before it ("edit code cell ab12") says the same in words.
    return props.named && props.before?.kind !== 'note' ? <div className="jp-agent-diffFile">{line.text}</div> : null;
  }
  if (line.kind === 'hunk') {
    const isFirst = props.before === undefined || props.before.kind === 'file';
    return isFirst ? null : <div className="jp-agent-diffHunk">⋯</div>;
  }
  if (line.kind === 'note') {
    return <div className="jp-agent-diffNote">{line.text}</div>;
  }
  return (
    <div className={`jp-agent-diffLine jp-mod-${line.kind}`}>
      <span className="jp-agent-diffNumber">{line.new ?? line.old}</span>
      <span className="jp-agent-diffSign">{SIGN[line.kind]}</span>
      <code>{line.text || ' '}</code>
    </div>
  );
}
