/** Numbers, names and lengths as a person reads them. Pure. */

/** `1 234` tokens as `1.2k`. */
export function compactNumber(value: number): string {
  if (value < 1000) {
    return String(Math.round(value));
  }
  const [scaled, unit] = value < 999_500 ? [value / 1000, 'k'] : [value / 1_000_000, 'M'];
  return `${scaled < 10 ? scaled.toFixed(1).replace(/\.0$/, '') : Math.round(scaled)}${unit}`;
}

/** US dollars; small sums keep two significant digits. */
export function money(dollars: number): string {
  if (dollars === 0) {
    return '$0';
  }
  return dollars < 0.01 ? `$${dollars.toPrecision(1)}` : `$${dollars.toFixed(2)}`;
}

/** Seconds as `0.3 s`, `12 s`, `3 min 5 s`, `2 h 4 min`. */
export function duration(seconds: number): string {
  if (seconds < 10) {
    return `${seconds.toFixed(1)} s`;
  }
  const whole = Math.round(seconds);
  if (whole < 60) {
    return `${whole} s`;
  }
  if (whole < 3600) {
    return `${Math.floor(whole / 60)} min ${whole % 60} s`;
  }
  return `${Math.floor(whole / 3600)} h ${Math.floor((whole % 3600) / 60)} min`;
}

/** What would happen, without the mode as the reason for asking: the mode stands below the message field. */
export function withoutMode(title: string): string {
  return title.replace(/ \(mode [a-z-]+\)$/, '');
}

/** The last part of a path. */
export function baseName(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1) || path;
}

export interface IClipped {
  text: string;
  /** Characters left out. */
  hidden: number;
}

/** The first `limit` characters, cut at a line end where one is near. Never splits a surrogate pair. */
export function clip(text: string, limit: number): IClipped {
  if (text.length <= limit) {
    return { text, hidden: 0 };
  }
  const line = text.lastIndexOf('\n', limit);
  let end = line > limit * 0.8 ? line : limit;
  const code = text.charCodeAt(end - 1);
  if (code >= 0xd800 && code <= 0xdbff) {
    end -= 1;
  }
  return { text: text.slice(0, end), hidden: text.length - end };
}
