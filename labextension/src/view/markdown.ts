/** Preparing a model's markdown: raw HTML becomes text, and a growing reply is cut where it will not change any more. Pure. */

const FENCE = /^ {0,3}(`{3,}|~{3,})/;

/**
 * The same markdown with raw HTML written as text, and diagrams that could load something as code. What this misses, the
 * sanitiser at the sink removes.
 */
export function prepareMarkdown(source: string): string {
  return escapeHtml(source).replace(DIAGRAM, (fence: string, head: string, body: string) =>
    isHarmlessDiagram(body) ? fence : `${head}text\n${body}`
  );
}

/** Whether a typesetter could find something in this markdown: maths begins with a dollar sign, `\\(`, `\\[` or `\begin{`. */
export function holdsMath(source: string): boolean {
  return /\$|\\[([]|\\begin\{|\\(?:eq)?ref\{/.test(source);
}

const DIAGRAM = /^( {0,3}(?:`{3,}|~{3,})[ \t]*)mermaid[^\n]*\n([\s\S]*?)(?=^ {0,3}(?:`{3,}|~{3,})[ \t]*$|(?![\s\S]))/gim;

/**
 * Whether a diagram can be drawn without anything being loaded: the library that draws it measures labels in the live page, so
 * an image in a label would be fetched before any sanitiser sees it (fault f76). What is in doubt is shown as text.
 */
export function isHarmlessDiagram(text: string): boolean {
  return !/<|\/\/|&|#\w+;|@\{|%%\{|\b(?:url|img|image|click|href|http|data|src)\b/i.test(text);
}

/** Raw HTML as text. Code (fenced or inline) stays as it is, and so do autolinks to the web. */
export function escapeHtml(source: string): string {
  const result: string[] = [];
  let prose: string[] = [];
  let fence = '';
  const flush = (): void => {
    if (prose.length > 0) {
      result.push(escapeProse(prose.join('\n')));
      prose = [];
    }
  };
  for (const line of source.split('\n')) {
    const mark = FENCE.exec(line)?.[1] ?? '';
    if (fence) {
      result.push(line);
      if (mark.startsWith(fence) && line.trim() === mark) {
        fence = '';
      }
    } else if (mark) {
      flush();
      fence = mark;
      result.push(line);
    } else {
      prose.push(line);
    }
  }
  flush();
  return result.join('\n');
}

function escapeProse(text: string): string {
  let result = '';
  let position = 0;
  while (position < text.length) {
    const character = text[position]!;
    if (character === '`') {
      const run = /^`+/.exec(text.slice(position, position + 64))![0];
      const end = closingRun(text, position + run.length, run.length);
      const next = end < 0 ? position + run.length : end;
      result += text.slice(position, next);
      position = next;
    } else if (character === '<' && /^<(?!https?:\/\/|mailto:)[a-z!/?]/i.test(text.slice(position, position + 12))) {
      result += '&lt;';
      position += 1;
    } else {
      result += character;
      position += 1;
    }
  }
  return result;
}

function closingRun(text: string, from: number, length: number): number {
  const runs = /`+/g;
  runs.lastIndex = from;
  // A code span ends with its paragraph.
  const limit = text.indexOf('\n\n', from);
  for (let match = runs.exec(text); match !== null; match = runs.exec(text)) {
    if (limit >= 0 && match.index > limit) {
      return -1;
    }
    if (match[0].length === length) {
      return match.index + length;
    }
  }
  return -1;
}

/**
 * Cuts markdown into blocks at blank lines outside of fences, so that while a reply grows only its last block is
 * rendered again. A list or quote that goes on after a blank line stays in one block. Joined with "\n\n" the blocks give the
 * source, except for blank lines between them.
 */
export function splitBlocks(source: string): string[] {
  const blocks: string[] = [];
  let block: string[] = [];
  let fence = '';
  let blank = false;
  const close = (): void => {
    const text = block.join('\n').replace(/\n+$/, '');
    if (text.trim()) {
      blocks.push(text);
    }
    block = [];
  };
  for (const line of source.split('\n')) {
    const mark = FENCE.exec(line)?.[1] ?? '';
    if (!fence && blank && line.trim() && !continues(line, block)) {
      close();
    }
    block.push(line);
    if (fence) {
      if (mark.startsWith(fence) && line.trim() === mark) {
        fence = '';
      }
    } else if (mark) {
      fence = mark;
    }
    blank = !fence && !line.trim();
  }
  close();
  return blocks;
}

const LIST = /^\s{0,3}(?:[-*+]|\d{1,9}[.)])\s/;

function continues(line: string, block: readonly string[]): boolean {
  const first = block.find(text => text.trim()) ?? '';
  return /^\s{2,}/.test(line) || (LIST.test(first) && LIST.test(line));
}
