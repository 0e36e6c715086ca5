/** One line about a tool call, from its name and arguments. Pure; the words are marked for translation by `trans`. */

import type { IToolResult, Json, JsonObject } from '../protocol';

type Translate = (text: string, ...values: string[]) => string;

/** `[what it does, on what]`; the second part is shown in the code font and may be empty. */
export function toolLine(name: string, args: JsonObject, trans: Translate): [string, string] {
  const path = text(args.path);
  switch (name) {
    case 'read_cells':
      return [args.cells ? trans('Read cells') : trans('Read the notebook'), path];
    case 'edit_cells':
      return [trans('Edit cells'), path || operations(args.ops)];
    case 'run_cells':
      return [trans('Run cells'), typeof args.cells === 'string' ? args.cells : path];
    case 'read_output':
      return [trans('Read output'), text(args.handle) || text(args.cell)];
    case 'run_code':
      return [args.scratch ? trans('Try code in a scratch copy') : trans('Run code'), firstLine(text(args.code))];
    case 'inspect_variables':
      return [trans('Inspect variables'), Array.isArray(args.names) ? args.names.map(text).join(', ') : ''];
    case 'control_kernel':
      return [trans('Kernel'), text(args.action)];
    case 'read_file':
      return [trans('Read'), path];
    case 'edit_file':
      return [trans('Edit'), path];
    case 'write_file':
      return [trans('Write'), path];
    case 'search_code':
      return [trans('Search'), text(args.pattern)];
    case 'find_files':
      return [trans('Find files'), text(args.query)];
    case 'run_bash':
      return [trans('Run command'), firstLine(text(args.command))];
    case 'todo':
      return [trans('Update the task list'), ''];
    case 'ask_user':
      return [trans('Ask you'), text(args.question)];
    case 'verify_notebook':
      return [trans('Verify in a fresh kernel'), path];
    case 'find_tools':
      return [trans('Look for tools'), text(args.query)];
    case 'call_tool':
      return [trans('Use'), text(args.name)];
    default:
      return [name.charAt(0).toUpperCase() + name.slice(1).replace(/_/g, ' '), path || firstLine(text(Object.values(args)[0] ?? ''))];
  }
}

/** The first line of a result: by convention its status. */
export function resultLine(result: IToolResult): string {
  return firstLine(resultText(result));
}

export function resultText(result: IToolResult): string {
  return result.content
    .filter(block => block.type === 'text')
    .map(block => text(block.text))
    .join('\n');
}

export interface IImage {
  mediaType: string;
  data: string;
}

/** Images of a result, only of kinds that a browser draws without running anything. */
export function resultImages(result: IToolResult): IImage[] {
  const images: IImage[] = [];
  for (const block of result.content) {
    const source = block.source as JsonObject | undefined;
    const mediaType = text(source?.media_type);
    const data = text(source?.data);
    if (block.type === 'image' && /^image\/(png|jpeg|gif|webp)$/.test(mediaType) && /^[A-Za-z0-9+/=\s]*$/.test(data)) {
      images.push({ mediaType, data });
    }
  }
  return images;
}

/** Items of the task list in a `todo` call. */
export function todoItems(args: JsonObject): { text: string; status: string }[] {
  const items = Array.isArray(args.items) ? args.items : [];
  return items.flatMap(item =>
    item !== null && typeof item === 'object' && !Array.isArray(item)
      ? [{ text: text(item.text), status: text(item.status) }]
      : []
  );
}

/** Arguments for reading: strings with line breaks as blocks of their own, the rest as JSON. */
export function argumentParts(args: JsonObject): { name: string; value: string; block: boolean }[] {
  return Object.entries(args).map(([name, value]) => {
    const isText = typeof value === 'string';
    const shown = isText ? value : JSON.stringify(value, null, 2);
    return { name, value: shown, block: shown.includes('\n') || shown.length > 60 };
  });
}

function operations(ops: Json | undefined): string {
  if (!Array.isArray(ops)) {
    return '';
  }
  const counts = new Map<string, number>();
  for (const op of ops) {
    const name = op !== null && typeof op === 'object' && !Array.isArray(op) ? text(op.op) : '';
    counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  return [...counts].map(([name, count]) => (count > 1 ? `${count} × ${name}` : name)).join(', ');
}

function text(value: Json | undefined): string {
  return typeof value === 'string' ? value : value === undefined || value === null ? '' : String(value);
}

function firstLine(value: string): string {
  const line = value.trimStart().split('\n', 1)[0] ?? '';
  return line.length > 160 ? `${line.slice(0, 160)}…` : line;
}
