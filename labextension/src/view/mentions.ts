/** `@` mentions and `/` commands in the message field. Pure. */

export interface ITrigger {
  sign: '@' | '/';
  query: string;
  /** Offsets of the sign and of the end of the query in the text. */
  start: number;
  end: number;
}

/** What is being mentioned at the cursor: `@` at the beginning of a word, or `/` at the beginning of the message. */
export function triggerAt(text: string, cursor: number): ITrigger | null {
  const before = text.slice(0, cursor);
  const command = /^\/([\w-]*)$/.exec(before);
  if (command) {
    return { sign: '/', query: command[1]!, start: 0, end: cursor };
  }
  const mention = /(?:^|[\s([{,;])@([^\s@]*)$/.exec(before);
  if (mention) {
    const query = mention[1]!;
    return { sign: '@', query, start: cursor - query.length - 1, end: cursor };
  }
  return null;
}

export interface ICandidate {
  /** What is matched and shown. */
  label: string;
  /** A word on what it is: cell, file, variable … */
  kind: string;
  detail: string;
}

/** Candidates that contain the query's characters in order, best first: whole prefix, word start, then anywhere. */
export function rank<T extends ICandidate>(candidates: readonly T[], query: string, limit = 12): T[] {
  const wanted = query.toLowerCase();
  const scored: { candidate: T; score: number; index: number }[] = [];
  candidates.forEach((candidate, index) => {
    const score = scoreOf(`${candidate.label}`.toLowerCase(), wanted);
    if (score >= 0) {
      scored.push({ candidate, score, index });
    }
  });
  scored.sort((a, b) => a.score - b.score || a.index - b.index);
  return scored.slice(0, limit).map(entry => entry.candidate);
}

function scoreOf(label: string, query: string): number {
  if (!query) {
    return 0;
  }
  const at = label.indexOf(query);
  if (at >= 0) {
    return at === 0 ? 0 : /[\w]/.test(label[at - 1]!) ? 2 : 1;
  }
  let position = 0;
  for (const character of query) {
    position = label.indexOf(character, position) + 1;
    if (position === 0) {
      return -1;
    }
  }
  return 3;
}
