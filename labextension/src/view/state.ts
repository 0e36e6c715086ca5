/**
 * What the page shows, as a pure fold over the event stream: `reduce(state, event)` never changes its arguments, and
 * keeps the identity of everything an event does not touch, so that only what changed is drawn again.
 */

import type {
  AgentEvent,
  IApproval,
  IApprovalRequest,
  IAssistant,
  IAttachment,
  IChange,
  INote,
  IStop,
  IToolResult,
  IUsage,
  JsonObject
} from '../protocol';

export interface IUserItem {
  kind: 'user';
  key: string;
  id: string;
  text: string;
  attachments: readonly IAttachment[];
  time: number;
}
export interface IReplyItem {
  kind: 'reply';
  key: string;
  text: string;
  thinking: string;
  model: string;
}
export interface IToolItem {
  kind: 'tool';
  key: string;
  call: string;
  name: string;
  arguments: JsonObject;
  progress: string;
  fraction: number | null;
  result: IToolResult | null;
  approvals: readonly IApprovalState[];
  changes: readonly IChange[];
}
export interface INoteItem {
  kind: 'note';
  key: string;
  level: INote['level'];
  text: string;
}
export interface IApprovalItem {
  kind: 'approval';
  key: string;
  approval: IApprovalState;
}
export interface IApprovalState {
  request: IApprovalRequest;
  answer: IApproval | null;
}
export type Item = IUserItem | IReplyItem | IToolItem | INoteItem | IApprovalItem;

export interface ITurn {
  turn: number;
  items: readonly Item[];
  changes: readonly IChange[];
  stop: IStop | null;
}

export interface IStreaming {
  turn: number;
  text: string;
  thinking: string;
}

export interface ITotals {
  input: number;
  output: number;
  cached: number;
  /** USD; null when no call so far had a known price. */
  cost: number | null;
  /** Whether a call without a known price is not in `cost`. */
  costIsPartial: boolean;
  contextUsed: number;
  contextLimit: number;
}

export interface IViewState {
  /** `seq` of the last journalled event seen. */
  seq: number;
  turns: readonly ITurn[];
  streaming: IStreaming | null;
  totals: ITotals;
}

export const EMPTY: IViewState = {
  seq: 0,
  turns: [],
  streaming: null,
  totals: { input: 0, output: 0, cached: 0, cost: null, costIsPartial: false, contextUsed: 0, contextLimit: 0 }
};

/** The state after one event. Events already seen are ignored, so that a replay may overlap. */
export function reduce(state: IViewState, event: AgentEvent): IViewState {
  if (event.type === 'delta') {
    return withDelta(state, event.turn, event.block, event.text);
  }
  if (event.seq <= state.seq) {
    return state;
  }
  const next: IViewState = { ...state, seq: event.seq };
  switch (event.type) {
    case 'usage':
      return { ...next, totals: addUsage(state.totals, event) };
    case 'assistant':
      return { ...updateTurn(next, event.turn, turn => withReply(turn, event)), streaming: null };
    case 'stop':
      return { ...updateTurn(next, event.turn, turn => ({ ...turn, stop: event })), streaming: null };
    default:
      return updateTurn(next, event.turn, turn => withItem(turn, event));
  }
}

/** Forget a half-received reply; the server sends it anew after a reconnect. */
export function withoutStreaming(state: IViewState): IViewState {
  return state.streaming === null ? state : { ...state, streaming: null };
}

/** Whether the last turn has begun and not ended, as far as the events tell. */
export function isOpen(state: IViewState): boolean {
  const last = state.turns[state.turns.length - 1];
  return last !== undefined && last.stop === null && last.items.some(item => item.kind === 'user');
}

/** Requests that wait for a person, oldest first; none once their turn has ended, and none that offer no answer. */
export function pendingApprovals(state: IViewState): IApprovalState[] {
  const pending: IApprovalState[] = [];
  for (const turn of state.turns) {
    if (turn.stop !== null) {
      continue;
    }
    for (const item of turn.items) {
      const approvals = item.kind === 'tool' ? item.approvals : item.kind === 'approval' ? [item.approval] : [];
      pending.push(...approvals.filter(isPending));
    }
  }
  return pending;
}

/** Without options a request is settled already: in advance, or because nobody could be asked. */
export function isPending(approval: IApprovalState): boolean {
  return approval.answer === null && approval.request.options.length > 0;
}

function withDelta(state: IViewState, turn: number, block: 'text' | 'thinking', text: string): IViewState {
  const old = state.streaming ?? { turn, text: '', thinking: '' };
  return { ...state, streaming: { ...old, turn, [block]: old[block] + text } };
}

function addUsage(totals: ITotals, usage: IUsage): ITotals {
  return {
    input: totals.input + usage.input + usage.cache_read + usage.cache_write,
    output: totals.output + usage.output,
    cached: totals.cached + usage.cache_read,
    cost: usage.cost === null ? totals.cost : (totals.cost ?? 0) + usage.cost,
    costIsPartial: totals.costIsPartial || usage.cost === null,
    contextUsed: usage.context_used || totals.contextUsed,
    contextLimit: usage.context_limit || totals.contextLimit
  };
}

function updateTurn(state: IViewState, number: number, update: (turn: ITurn) => ITurn): IViewState {
  const index = state.turns.findIndex(turn => turn.turn === number);
  if (index < 0) {
    const turns = [...state.turns, update({ turn: number, items: [], changes: [], stop: null })];
    turns.sort((a, b) => a.turn - b.turn);
    return { ...state, turns };
  }
  const turns = state.turns.slice();
  turns[index] = update(turns[index]!);
  return { ...state, turns };
}

function withReply(turn: ITurn, event: IAssistant): ITurn {
  if (!event.text && !event.thinking) {
    return turn;
  }
  const { text, thinking, model } = event;
  return { ...turn, items: [...turn.items, { kind: 'reply', key: nextReply(turn), text, thinking, model }] };
}

/** The key of a turn's next reply: the same while it is streamed and when it is there, so that it is drawn only once. */
export function nextReply(turn: ITurn): string {
  return `r${turn.items.filter(item => item.kind === 'reply').length}`;
}

type ItemEvent = Exclude<AgentEvent, { type: 'delta' | 'usage' | 'assistant' | 'stop' }>;

function withItem(turn: ITurn, event: ItemEvent): ITurn {
  switch (event.type) {
    case 'user': {
      const { id, text, attachments, time } = event;
      return { ...turn, items: [...turn.items, { kind: 'user', key: `u${event.seq}`, id, text, attachments, time }] };
    }
    case 'note':
      return {
        ...turn,
        items: [...turn.items, { kind: 'note', key: `n${event.seq}`, level: event.level, text: event.text }]
      };
    case 'tool_start':
      return { ...turn, items: [...turn.items, startedTool(event.call, event.name, event.arguments, event.seq)] };
    case 'progress':
      return updateTool(turn, event.call, tool => ({ ...tool, progress: event.text, fraction: event.fraction }));
    case 'tool_result':
      return updateTool(turn, event.call, tool => ({ ...tool, result: event }));
    case 'approval_request':
      return withRequest(turn, event);
    case 'approval':
      return withAnswer(turn, event);
    case 'change':
      return withChange(turn, event);
  }
}

function startedTool(call: string, name: string, args: JsonObject, seq: number): IToolItem {
  const nothing = { progress: '', fraction: null, result: null, approvals: [], changes: [] };
  return { kind: 'tool', key: `t${seq}`, call, name, arguments: args, ...nothing };
}

function updateTool(turn: ITurn, call: string, update: (tool: IToolItem) => IToolItem): ITurn {
  const index = findLast(turn.items, item => item.kind === 'tool' && item.call === call);
  return index < 0 ? turn : { ...turn, items: replaced(turn.items, index, update(turn.items[index] as IToolItem)) };
}

/** The tool at work is the innermost one without a result: what is asked or changed belongs to it. */
function toolAtWork(items: readonly Item[]): number {
  return findLast(items, item => item.kind === 'tool' && item.result === null);
}

function withRequest(turn: ITurn, request: IApprovalRequest): ITurn {
  const approval: IApprovalState = { request, answer: null };
  const index = toolAtWork(turn.items);
  if (index < 0) {
    return { ...turn, items: [...turn.items, { kind: 'approval', key: `a${request.seq}`, approval }] };
  }
  const tool = turn.items[index] as IToolItem;
  return { ...turn, items: replaced(turn.items, index, { ...tool, approvals: [...tool.approvals, approval] }) };
}

function withAnswer(turn: ITurn, answer: IApproval): ITurn {
  const settle = (approval: IApprovalState): IApprovalState =>
    approval.request.id === answer.id && approval.answer === null ? { ...approval, answer } : approval;
  const items = turn.items.map((item): Item => {
    if (item.kind === 'approval' && item.approval.request.id === answer.id) {
      return { ...item, approval: settle(item.approval) };
    }
    if (item.kind === 'tool' && item.approvals.some(approval => approval.request.id === answer.id)) {
      return { ...item, approvals: item.approvals.map(settle) };
    }
    return item;
  });
  return { ...turn, items };
}

function withChange(turn: ITurn, change: IChange): ITurn {
  const changes = [...turn.changes, change];
  const index = toolAtWork(turn.items);
  if (index < 0) {
    return { ...turn, changes };
  }
  const tool = turn.items[index] as IToolItem;
  return { ...turn, changes, items: replaced(turn.items, index, { ...tool, changes: [...tool.changes, change] }) };
}

function replaced<T>(list: readonly T[], index: number, value: T): T[] {
  const copy = list.slice();
  copy[index] = value;
  return copy;
}

function findLast<T>(list: readonly T[], test: (value: T) => boolean): number {
  for (let index = list.length - 1; index >= 0; index--) {
    if (test(list[index]!)) {
      return index;
    }
  }
  return -1;
}
