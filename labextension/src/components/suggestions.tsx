/** The list of mentions or commands above the message field. */

import * as React from 'react';
import type { ICandidate } from '../view/mentions';
import { useServices } from './services';

export function SuggestionList(props: {
  found: readonly ICandidate[];
  active: number;
  onChoose: (chosen: ICandidate) => void;
}): JSX.Element {
  const { trans } = useServices();
  const list = React.useRef<HTMLUListElement>(null);
  React.useEffect(() => {
    list.current?.children[props.active]?.scrollIntoView({ block: 'nearest' });
  }, [props.active]);
  return (
    <ul ref={list} id="jp-agent-suggestions" className="jp-agent-suggestions" role="listbox" aria-label={trans.__('Suggestions')}>
      {props.found.map((candidate, index) => (
        <li
          key={`${candidate.kind} ${candidate.label} ${index}`}
          id={`jp-agent-suggestion-${index}`}
          role="option"
          aria-selected={index === props.active}
          className={index === props.active ? 'jp-mod-active' : ''}
          // On press, not on click: the field must keep the focus.
          onMouseDown={event => {
            event.preventDefault();
            props.onChoose(candidate);
          }}
        >
          <span className="jp-agent-suggestionLabel">{candidate.label}</span>
          <span className="jp-agent-suggestionDetail">{candidate.detail}</span>
          {candidate.kind !== 'command' && <span className="jp-agent-suggestionKind">{candidate.kind}</span>}
        </li>
      ))}
    </ul>
  );
}
