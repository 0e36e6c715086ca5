/** Reading unified diffs for the screen. Pure. */

export interface IDiffLine {
  kind: 'add' | 'remove' | 'same' | 'hunk' | 'file' | 'note';
  text: string;
  /** 1-based line number before and after the change; null where the line does not exist. */
  old: number | null;
  new: number | null;
}

const HUNK = /^@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@/;

/** Lines of a unified diff of one or several files or cells. Text outside of hunks is kept as notes. */
export function parseDiff(diff: string): IDiffLine[] {
  const lines: IDiffLine[] = [];
  let oldLine = 0;
  let newLine = 0;
  let inHunk = false;
  const source = diff.endsWith('\n') ? diff.slice(0, -1) : diff;
  const texts = source.split('\n');
  for (let index = 0; index < texts.length; index++) {
    const text = texts[index]!;
    const hunk = HUNK.exec(text);
    if (hunk) {
      oldLine = Number(hunk[1]);
      newLine = Number(hunk[2]);
      inHunk = true;
      lines.push({ kind: 'hunk', text, old: null, new: null });
    } else if (text.startsWith('--- ') && (texts[index + 1] ?? '').startsWith('+++ ')) {
      inHunk = false;
      lines.push({ kind: 'file', text: fileName(text, texts[index + 1]!), old: null, new: null });
      index++;
    } else if (!inHunk) {
      lines.push({ kind: 'note', text, old: null, new: null });
    } else if (text.startsWith('+')) {
      lines.push({ kind: 'add', text: text.slice(1), old: null, new: newLine++ });
    } else if (text.startsWith('-')) {
      lines.push({ kind: 'remove', text: text.slice(1), old: oldLine++, new: null });
    } else if (text.startsWith('\\')) {
      lines.push({ kind: 'note', text: text.slice(2), old: null, new: null });
    } else {
      lines.push({ kind: 'same', text: text.slice(1), old: oldLine++, new: newLine++ });
    }
  }
  return lines;
}

/** Whether a preview is (or begins with) a unified diff. */
export function isDiff(text: string): boolean {
  return /^--- .*\n\+\+\+ .*\n@@ /m.test(text);
}

/** Added and removed lines. */
export function countDiff(diff: string): { added: number; removed: number } {
  let added = 0;
  let removed = 0;
  for (const line of parseDiff(diff)) {
    added += line.kind === 'add' ? 1 : 0;
    removed += line.kind === 'remove' ? 1 : 0;
  }
  return { added, removed };
}

function fileName(before: string, after: string): string {
  const name = after.slice(4) === '/dev/null' ? before.slice(4) : after.slice(4);
  return name.replace(/^[ab]\//, '').trim();
}
