/** Parses and formats metav1.Time and metav1.MicroTime, with the errors of Go's time package. */

const LAYOUT = '2006-01-02T15:04:05Z07:00';
const MICRO_LAYOUT = '2006-01-02T15:04:05.000000Z07:00';

/** The elements of the layout and the text that they accept. */
const ELEMENTS: [name: string, pattern: RegExp][] = [
  ['2006', /^\d{4}/],
  ['-', /^-/],
  ['01', /^\d\d/],
  ['-', /^-/],
  ['02', /^\d\d/],
  ['T', /^T/],
  ['15', /^\d\d/],
  [':', /^:/],
  ['04', /^\d\d/],
  [':', /^:/],
  ['05', /^\d\d(?:[.,]\d+)?/],
  ['Z07:00', /^(?:Z|[+-]\d\d:\d\d)/],
];

/** Whole seconds, UTC: `2026-01-02T03:04:05Z`. */
export function canonicalTime(text: string): string {
  return `${new Date(millisecondsOf(text, LAYOUT)).toISOString().slice(0, 19)}Z`;
}

/** Microseconds, UTC: `2026-01-02T03:04:05.000006Z`. */
export function canonicalMicroTime(text: string): string {
  const seconds = new Date(millisecondsOf(text, MICRO_LAYOUT)).toISOString().slice(0, 19);
  const fraction = /[.,](\d+)/.exec(text)?.[1] ?? '';
  return `${seconds}.${fraction.slice(0, 6).padEnd(6, '0')}Z`;
}

function millisecondsOf(text: string, layout: string): number {
  let rest = text;
  const parts: string[] = [];
  for (const [name, pattern] of ELEMENTS) {
    const part = pattern.exec(rest)?.[0];
    if (part === undefined) {
      throw new Error(
        `parsing time ${quote(text)} as ${quote(layout)}: cannot parse ${quote(rest)} as ${quote(name)}`,
      );
    }
    parts.push(part);
    rest = rest.slice(part.length);
  }
  if (rest !== '') throw new Error(`parsing time ${quote(text)}: extra text: ${quote(rest)}`);
  const [year, month, day, hour, minute, second] = [0, 2, 4, 6, 8, 10].map((i) =>
    Number.parseInt(parts[i] ?? '', 10),
  );
  const inRange = (name: string, value: number | undefined, min: number, max: number): number => {
    if (value === undefined || value < min || value > max) {
      throw new Error(`parsing time ${quote(text)}: ${name} out of range`);
    }
    return value;
  };
  const monthIndex = inRange('month', month, 1, 12) - 1;
  const daysInMonth = new Date(utcDay(year ?? 0, monthIndex + 1, 0)).getUTCDate();
  const midnight = utcDay(year ?? 0, monthIndex, inRange('day', day, 1, daysInMonth));
  const hours = inRange('hour', hour, 0, 23);
  const minutes = hours * 60 + inRange('minute', minute, 0, 59);
  const seconds = minutes * 60 + inRange('second', second, 0, 59);
  const time = midnight + seconds * 1000 - offsetOf(parts[11] ?? 'Z');
  inRange('year', new Date(time).getUTCFullYear(), 0, 9999);
  return time;
}

/** Date.UTC reads the years 0 to 99 as 1900 to 1999. */
const utcDay = (year: number, month: number, day: number): number =>
  new Date(0).setUTCFullYear(year, month, day);

function offsetOf(zone: string): number {
  if (zone === 'Z') return 0;
  const sign = zone.startsWith('-') ? -1 : 1;
  return sign * (Number(zone.slice(1, 3)) * 60 + Number(zone.slice(4, 6))) * 60_000;
}

const quote = (text: string): string => JSON.stringify(text);
