/** The `/` commands of the message field. Pure: parsing only; what they do is the panel's. */

import type { Mode } from '../protocol';
import { MODES } from '../protocol';

export type Command =
  | { name: 'new' | 'history' | 'undo' | 'stop' | 'help' | 'settings' }
  | { name: 'mode'; mode: Mode }
  | { name: 'model'; model: string };

export interface ICommandHelp {
  label: string;
  kind: 'command';
  detail: string;
}

/** The commands with a line of help; `trans` translates. */
export function commandHelp(trans: (text: string) => string): ICommandHelp[] {
  const entries: [string, string][] = [
    ['new', trans('Start a new conversation')],
    ['history', trans('Earlier conversations')],
    ['undo', trans('Take back what the last turn changed')],
    ['stop', trans('Stop the turn')],
    ['mode', trans('plan, review, accept-edits or auto')],
    ['model', trans('Use another model: /model NAME')],
    ['settings', trans('Open the settings')],
    ['help', trans('What can be done here')]
  ];
  return entries.map(([label, detail]) => ({ label: `/${label}`, kind: 'command', detail }));
}

/** The command a message is, or null for an ordinary message. A path such as `/data/x.csv` is not a command. */
export function parseCommand(text: string): Command | null {
  const match = /^\/([a-z]+)(?:\s+(\S+))?\s*$/.exec(text.trim());
  if (!match) {
    return null;
  }
  const [, name, argument] = match;
  switch (name) {
    case 'new':
    case 'history':
    case 'undo':
    case 'stop':
    case 'help':
    case 'settings':
      return argument ? null : { name };
    case 'mode':
      return MODES.includes(argument as Mode) ? { name, mode: argument as Mode } : null;
    case 'model':
      return argument ? { name, model: argument } : null;
    default:
      return null;
  }
}
