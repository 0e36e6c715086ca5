/** Mode and model: quiet selects in the message field's bar. */

import * as React from 'react';
import { Mode, MODES, type IModels } from '../protocol';
import { useServices } from './services';

export function ModePicker(props: { mode: Mode; onChange: (mode: Mode) => void }): JSX.Element {
  const { trans } = useServices();
  const words: Record<Mode, [string, string]> = {
    plan: [trans.__('Plan'), trans.__('Looks and plans; changes nothing')],
    review: [trans.__('Review'), trans.__('Asks before every change and every run')],
    'accept-edits': [trans.__('Accept edits'), trans.__('Edits and runs cells by itself; asks before commands')],
    auto: [trans.__('Auto'), trans.__('Works by itself; commands run inside a sandbox, else it asks')]
  };
  return (
    <select
      className="jp-agent-select"
      aria-label={trans.__('Mode')}
      title={words[props.mode][1]}
      value={props.mode}
      onChange={event => props.onChange(event.target.value as Mode)}
    >
      {MODES.map(mode => (
        <option key={mode} value={mode} title={words[mode][1]}>
          {words[mode][0]}
        </option>
      ))}
    </select>
  );
}

export function ModelPicker(props: {
  models: IModels | null;
  model: string;
  onChange: (model: string) => void;
}): JSX.Element | null {
  const { trans } = useServices();
  const known = props.models?.models ?? [];
  const current = props.model || props.models?.current || '';
  if (!current && known.length === 0) {
    return null;
  }
  const all = known.some(entry => entry.id === current) || !current ? known : [{ id: current, label: current }, ...known];
  return (
    <select
      className="jp-agent-select jp-agent-modelSelect"
      aria-label={trans.__('Model')}
      title={current}
      value={current}
      onChange={event => props.onChange(event.target.value)}
    >
      {all.map(entry => (
        <option key={entry.id} value={entry.id}>
          {entry.label}
        </option>
      ))}
    </select>
  );
}
