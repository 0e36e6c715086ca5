/**
 * What travels between the server and the page: the events of `jupyter_agent/events.py`, and the messages around them.
 */

export type Decision = 'once' | 'always' | 'reject';
export type StopReason = 'done' | 'limit' | 'stopped' | 'denied' | 'error';
export type Verified = 'proven' | 'unproven' | 'failed' | 'none';
export type Level = 'info' | 'warning' | 'error';
export type Mode = 'plan' | 'review' | 'accept-edits' | 'auto';
export const MODES: readonly Mode[] = ['plan', 'review', 'accept-edits', 'auto'];

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };
export type JsonObject = { [key: string]: Json };

/** Something sent along with a message: an image, or a named text. `kind` and `ref` are for the screen. */
export interface IAttachment {
  type: 'image' | 'text';
  name: string;
  text?: string;
  media_type?: string;
  data?: string;
  kind?: string;
}

interface IStamp {
  seq: number;
  time: number;
  turn: number;
}

export interface IUser extends IStamp {
  type: 'user';
  id: string;
  text: string;
  attachments: IAttachment[];
}
export interface IDelta extends IStamp {
  type: 'delta';
  block: 'text' | 'thinking';
  text: string;
}
export interface IAssistant extends IStamp {
  type: 'assistant';
  text: string;
  thinking: string;
  calls: { id: string; name: string; arguments: JsonObject }[];
  stop_reason: string;
  model: string;
}
export interface IToolStart extends IStamp {
  type: 'tool_start';
  call: string;
  name: string;
  arguments: JsonObject;
}
export interface IProgress extends IStamp {
  type: 'progress';
  call: string;
  text: string;
  fraction: number | null;
}
export interface IToolResult extends IStamp {
  type: 'tool_result';
  call: string;
  name: string;
  content: JsonObject[];
  details: JsonObject;
  is_error: boolean;
  seconds: number;
}
export interface IApprovalRequest extends IStamp {
  type: 'approval_request';
  id: string;
  digest: string;
  kind: string;
  title: string;
  preview: string;
  options: string[];
}
export interface IApproval extends IStamp {
  type: 'approval';
  id: string;
  digest: string;
  decision: Decision;
  reason: string;
  by: string;
}
export interface IChange extends IStamp {
  type: 'change';
  target: string;
  cell: string;
  before: string;
  after: string;
  diff: string;
  checkpoint: string;
}
export interface INote extends IStamp {
  type: 'note';
  level: Level;
  text: string;
}
export interface IUsage extends IStamp {
  type: 'usage';
  input: number;
  output: number;
  cache_read: number;
  cache_write: number;
  cost: number | null;
  context_used: number;
  context_limit: number;
}
export interface IStop extends IStamp {
  type: 'stop';
  reason: StopReason;
  verified: Verified;
  summary: string;
  changes: JsonObject[];
}

export type AgentEvent =
  | IUser
  | IDelta
  | IAssistant
  | IToolStart
  | IProgress
  | IToolResult
  | IApprovalRequest
  | IApproval
  | IChange
  | INote
  | IUsage
  | IStop;

/** What the server says apart from the conversation's own events; none of it is journalled. */
export interface IStatus {
  type: 'status';
  /** `seq` of the newest event. */
  newest: number;
  running: boolean;
  mode: Mode;
  model: string;
  title: string;
  /** The conversation's notebook as the contents manager names it, or "". */
  notebook: string;
  /** The server's root folder on its machine, to which the contents manager's paths are relative. */
  root: string;
  /** The page's requests that are pending: questions of the agent to the person. */
  question: { id: string; text: string; choices: string[] } | null;
}
/** The server declined something that this page sent; a sentence for the person. `id` names the message if one is meant. */
export interface IProblem {
  type: 'problem';
  text: string;
  id?: string;
}
/** The server has what this page sent with this number. */
export interface ITaken {
  type: 'taken';
  number: number;
}
export type ServerMessage = AgentEvent | IStatus | IProblem | ITaken;

/** The first message of each connection. */
export interface IHello {
  after: number;
  client: string;
}
/** What a person said or decided. */
export type Request =
  | ({ type: 'user'; id: string; text: string; attachments: IAttachment[] } & IWithheld)
  | { type: 'approval'; id: string; digest: string; decision: Decision; reason: string }
  | { type: 'answer'; id: string; text: string }
  | { type: 'stop' }
  | { type: 'mode'; mode: Mode }
  | { type: 'model'; model: string }
  /** Take back what a turn changed; with `later`, the turns after it too. */
  | { type: 'undo'; turn: number; later: boolean }
  | { type: 'revert'; target: string; cell: string; turn: number };
/** Numbers grow; the server does what one page sends with a number only once. */
export type Numbered = Request & { number: number };

export interface INewConversation {
  /** As the contents manager names it, or "". */
  notebook: string;
  mode: Mode;
  model: string;
}

/** What the model does not get to see from then on. */
export interface IWithheld {
  no_outputs: boolean;
  no_variables: boolean;
}

export interface IConversationEntry {
  id: string;
  title: string;
  notebook: string;
  /** Unix seconds of the last event. */
  updated: number;
  turns: number;
  running: boolean;
}

export interface IModelEntry {
  id: string;
  label: string;
}

export interface IModels {
  models: IModelEntry[];
  current: string;
  /** How to connect a model; empty when one is connected. */
  advice: string;
  /** Address of a local server that was found and needs the person's word before it is used. */
  offer: string;
}
