/** The smallest replacements that turn one text into another, so that cursors outside of them do not move. Pure. */

export interface ISplice {
  /** UTF-16 offsets into the text before any splice was made. */
  start: number;
  end: number;
  text: string;
}

/** Beyond this many differing lines one replacement is used instead of a search for the shortest script. */
const SEARCH_LIMIT = 2000;

/** Splices in descending order of their place: applied one after the other, no offset needs adjusting. */
export function splices(before: string, after: string): ISplice[] {
  if (before === after) {
    return [];
  }
  const old = lines(before);
  const fresh = lines(after);
  let head = 0;
  while (head < old.length && head < fresh.length && old[head] === fresh[head]) {
    head++;
  }
  let tail = 0;
  while (
    tail < old.length - head &&
    tail < fresh.length - head &&
    old[old.length - 1 - tail] === fresh[fresh.length - 1 - tail]
  ) {
    tail++;
  }
  const middleOld = old.slice(head, old.length - tail);
  const middleNew = fresh.slice(head, fresh.length - tail);
  const offset = length(old.slice(0, head));
  const found = middleOld.length + middleNew.length > SEARCH_LIMIT ? [] : hunks(middleOld, middleNew);
  const result = found.length > 0 ? found : [{ start: 0, end: middleOld.length, lines: middleNew }];
  return result
    .map(hunk => {
      const start = offset + length(middleOld.slice(0, hunk.start));
      const end = start + length(middleOld.slice(hunk.start, hunk.end));
      return trimmed(before, { start, end, text: hunk.lines.join('') });
    })
    .filter(splice => splice.start < splice.end || splice.text)
    .reverse();
}

function lines(text: string): string[] {
  return text.match(/[^\n]*\n|[^\n]+$/g) ?? [];
}

function length(parts: readonly string[]): number {
  return parts.reduce((sum, part) => sum + part.length, 0);
}

interface IHunk {
  start: number;
  end: number;
  lines: string[];
}

/** Myers' greedy algorithm on lines; an empty result means that it was given up. */
function hunks(old: readonly string[], fresh: readonly string[]): IHunk[] {
  const limit = Math.min(old.length + fresh.length, 400);
  const trace: Int32Array[] = [];
  let reach = new Int32Array(2 * limit + 3).fill(-1);
  reach[limit + 1] = 0;
  for (let distance = 0; distance <= limit; distance++) {
    trace.push(reach.slice());
    for (let k = -distance; k <= distance; k += 2) {
      const down = k === -distance || (k !== distance && reach[limit + k - 1]! < reach[limit + k + 1]!);
      let x = down ? reach[limit + k + 1]! : reach[limit + k - 1]! + 1;
      while (x < old.length && x - k < fresh.length && x - k >= 0 && old[x] === fresh[x - k]) {
        x++;
      }
      reach[limit + k] = x;
      if (x >= old.length && x - k >= fresh.length) {
        return backtrack(trace, limit, old.length, fresh);
      }
    }
  }
  return [];
}

function backtrack(trace: readonly Int32Array[], limit: number, oldLength: number, fresh: readonly string[]): IHunk[] {
  const found: IHunk[] = [];
  let x = oldLength;
  let y = fresh.length;
  for (let distance = trace.length - 1; distance > 0; distance--) {
    const reach = trace[distance]!;
    const k = x - y;
    const down = k === -distance || (k !== distance && reach[limit + k - 1]! < reach[limit + k + 1]!);
    const previous = down ? k + 1 : k - 1;
    const fromX = reach[limit + previous]!;
    const fromY = fromX - previous;
    const step: IHunk = down
      ? { start: fromX, end: fromX, lines: [fresh[fromY]!] }
      : { start: fromX, end: fromX + 1, lines: [] };
    const next = found[0];
    if (next && next.start === step.end) {
      found[0] = { start: step.start, end: next.end, lines: [...step.lines, ...next.lines] };
    } else {
      found.unshift(step);
    }
    x = fromX;
    y = fromY;
  }
  return found;
}

/** Takes off what both sides share, without cutting a surrogate pair. */
function trimmed(before: string, splice: ISplice): ISplice {
  let { start, end, text } = splice;
  let head = 0;
  while (head < text.length && start + head < end && before[start + head] === text[head]) {
    head++;
  }
  if (head > 0 && isHighSurrogate(text.charCodeAt(head - 1))) {
    head--;
  }
  start += head;
  text = text.slice(head);
  let tail = 0;
  while (tail < text.length && start < end - tail && before[end - 1 - tail] === text[text.length - 1 - tail]) {
    tail++;
  }
  if (tail > 0 && isLowSurrogate(text.charCodeAt(text.length - tail))) {
    tail--;
  }
  return { start, end: end - tail, text: text.slice(0, text.length - tail) };
}

function isHighSurrogate(code: number): boolean {
  return code >= 0xd800 && code <= 0xdbff;
}

function isLowSurrogate(code: number): boolean {
  return code >= 0xdc00 && code <= 0xdfff;
}
