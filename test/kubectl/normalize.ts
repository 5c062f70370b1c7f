/**
 * Replaces values that differ between runs (uids, times, allocated addresses) with a name in angle brackets, so that
 * transcripts of two servers can be compared as text.
 *
 * In a table, a replaced cell would shift the columns after it. Such a column is laid out again, and all other columns
 * keep the spacing of kubectl.
 */

type Rule = readonly [pattern: RegExp, replacement: string];

const AGE = String.raw`(?:\d+y)?(?:\d+d)?(?:\d+h)?(?:\d+m)?(?:\d+s)?`;

const RULES: readonly Rule[] = [
  [/eyJ[\w-]{10,}\.[\w-]+\.[\w-]+/g, '<token>'],
  [/\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/g, '<uid>'],
  [/(resourceVersion\\?"?: ?\\?")\d+/gi, '$1<rv>'],
  [/(ResourceVersion in record \(|resource version: |resourceVersion=|Resource Version: +)\d+/g, '$1<rv>'],
  [/("continue": ?)"[\w+/=-]{8,}"/g, '$1"<continue>"'],
  [/\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d+)?(?:Z| ?[+-]\d{4}(?: UTC)?)?/g, '<time>'],
  [/\b(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d\d \w{3} \d{4} \d\d:\d\d:\d\d [+-]\d{4}/g, '<time>'],
  [/\b10\.96\.\d{1,3}\.\d{1,3}\b/g, '<cluster-ip>'],
  [/\b(nodePort"?: ?|\d+:)3[0-2]\d{3}\b/gi, '$1<node-port>'],
  [/^(NodePort: +\S+ +)3[0-2]\d{3}\b/gm, '$1<node-port>'],
  [/(-)[bcdfghjklmnpqrstvwxz2456789]{5}(?![\w-])/g, '$1<random>'],
  [/\/tmp\/(?:tg-\w+\/)?(LIVE|MERGED)-\d+\//g, '/tmp/$1-<n>/'],
  [/\/tmp\/(?:tg-\w+\/)?kubectl-edit-\d+\.yaml/g, '/tmp/kubectl-edit-<n>.yaml'],
];

/** An age is a cell of its own. A quantity (`cpu:  100m`) has the same form but follows a name. */
const AGES: readonly Rule[] = [
  [new RegExp(String.raw`(?<=^|[^:\s]\s{2,})(?=\d)${AGE}(?=$|\s\s| \(x\d+ over)`, 'gm'), '<age>'],
  [new RegExp(String.raw`(?<=\(x\d+ over |\d \()(?=\d)${AGE}(?=\)| ago\))`, 'g'), '<age>'],
];

const AGE_COLUMN = /^(?:AGE|LAST SEEN|FIRST SEEN|DURATION|LAST SCHEDULE|RESTARTS)$/i;

/**
 * Replaces what differs between runs and clusters, for example addresses and ages, so that outputs can be compared.
 */
export function normalize(output: string, server: string): string {
  const host = server.replace(/^https?:\/\//, '');
  const lines = output.replaceAll(server, '<server>').replaceAll(host, '<server>').split('\n');
  const result: string[] = [];
  for (let at = 0; at < lines.length; ) {
    const table = tableAt(lines, at);
    if (table) result.push(...normalizeTable(table));
    else result.push(replace(lines[at] as string, [...RULES, ...AGES]));
    at += table?.lines.length ?? 1;
  }
  return result.join('\n');
}

function replace(text: string, rules: readonly Rule[]): string {
  return rules.reduce((current, [pattern, replacement]) => current.replace(pattern, replacement), text);
}

interface Table {
  readonly lines: readonly string[];
  /** The start of each column. */
  readonly offsets: readonly number[];
  /** The number of spaces between two columns in the output of kubectl. */
  readonly gap: number;
}

const WORDS = '[A-Z][A-Z0-9()/.-]*(?: [A-Z0-9()/.-]+)*';
const HEADERS = [
  { pattern: new RegExp(`^${WORDS}(?: {2,}${WORDS})+ *$`), gap: 3 },
  { pattern: /^ +Type +Reason +Age +From +Message$/, gap: 2 },
];

function tableAt(lines: readonly string[], start: number): Table | undefined {
  const header = lines[start] as string;
  const gap = HEADERS.find(({ pattern }) => pattern.test(header))?.gap;
  if (gap === undefined) return undefined;
  const offsets = [...header.matchAll(/\S+(?: \S+)*/g)].map((match) => match.index);
  let end = start + 1;
  while (end < lines.length && lines[end] !== '' && isRow(lines[end] as string, offsets)) end++;
  return { lines: lines.slice(start, end), offsets, gap };
}

/** A cell starts where its column starts. Rows of a watch can have a different layout, and messages have none. */
function isRow(line: string, offsets: readonly number[]): boolean {
  return offsets.slice(1).every((offset, column) => {
    const cell = line.slice(offset, offsets[column + 2]);
    return line.slice(offset - 2, offset).trim() === '' && (cell.trim() === '' || !cell.startsWith(' '));
  });
}

function normalizeTable({ lines, offsets, gap }: Table): string[] {
  const rows = lines.map((line) => offsets.map((offset, column) => line.slice(offset, offsets[column + 1])));
  const last = offsets.length - 1;
  for (let column = 0; column <= last; column++) {
    const before = rows.map((row) => (row[column] as string).trimEnd());
    const rules = AGE_COLUMN.test(before[0] as string) ? [...RULES, ...AGES] : RULES;
    const after = before.map((cell) => replace(cell, rules));
    if (after.every((cell, row) => cell === before[row])) continue;
    const width = column === last ? 0 : Math.max(...after.map((cell) => cell.length)) + gap;
    rows.forEach((row, index) => {
      row[column] = (after[index] as string).padEnd(width);
    });
  }
  return rows.map((row, index) => (lines[index] as string).slice(0, offsets[0]) + row.join(''));
}
