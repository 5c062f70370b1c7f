interface Side {
  name: string;
  text: string;
}

interface Line {
  readonly sign: ' ' | '-' | '+';
  readonly text: string;
}

const CONTEXT = 3;

/** The two texts as `diff -u` shows them; nothing when they are equal. */
export function unifiedDiff(before: Side, after: Side): string {
  const lines = compare(linesOf(before.text), linesOf(after.text));
  const hunks = hunksOf(lines);
  if (hunks.length === 0) return '';
  return [`--- ${before.name}`, `+++ ${after.name}`, ...hunks.map((hunk) => hunkText(lines, hunk))]
    .map((text) => `${text}\n`)
    .join('');
}

const linesOf = (text: string): string[] => (text === '' ? [] : text.replace(/\n$/, '').split('\n'));

/** By the longest common subsequence; what is equal at both ends needs no search. */
function compare(a: readonly string[], b: readonly string[]): Line[] {
  let start = 0;
  while (start < a.length && start < b.length && a[start] === b[start]) start++;
  let end = 0;
  while (end < a.length - start && end < b.length - start && a.at(-1 - end) === b.at(-1 - end)) end++;
  const same = (text: string): Line => ({ sign: ' ', text });
  return [
    ...a.slice(0, start).map(same),
    ...compareMiddles(a.slice(start, a.length - end), b.slice(start, b.length - end)),
    ...a.slice(a.length - end).map(same),
  ];
}

function compareMiddles(a: readonly string[], b: readonly string[]): Line[] {
  const width = b.length + 1;
  // At [i, j]: how many lines a[i..] and b[j..] have in common at most.
  const common = new Uint32Array((a.length + 1) * width);
  const at = (i: number, j: number): number => common[i * width + j]!;
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      common[i * width + j] = a[i] === b[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1));
    }
  }
  const lines: Line[] = [];
  let [i, j] = [0, 0];
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) {
      lines.push({ sign: ' ', text: a[i]! });
      i++;
      j++;
    } else if (j === b.length || (i < a.length && at(i + 1, j) >= at(i, j + 1))) {
      lines.push({ sign: '-', text: a[i++]! });
    } else lines.push({ sign: '+', text: b[j++]! });
  }
  return lines;
}

interface Hunk {
  readonly from: number;
  readonly to: number;
}

/** Changes with the lines around them; those whose surroundings touch are one. */
function hunksOf(lines: readonly Line[]): Hunk[] {
  const hunks: Hunk[] = [];
  for (const [index, { sign }] of lines.entries()) {
    if (sign === ' ') continue;
    const from = Math.max(0, index - CONTEXT);
    const to = Math.min(lines.length, index + 1 + CONTEXT);
    const last = hunks.at(-1);
    if (last !== undefined && from <= last.to) hunks[hunks.length - 1] = { from: last.from, to };
    else hunks.push({ from, to });
  }
  return hunks;
}

function hunkText(lines: readonly Line[], { from, to }: Hunk): string {
  const hunk = lines.slice(from, to);
  const range = (side: Line['sign']): string => {
    const count = (part: readonly Line[]): number => part.filter(({ sign }) => sign !== side).length;
    const length = count(hunk);
    // An empty side is named by the line before it.
    const start = count(lines.slice(0, from)) + (length === 0 ? 0 : 1);
    return length === 1 ? `${start}` : `${start},${length}`;
  };
  return [`@@ -${range('+')} +${range('-')} @@`, ...hunk.map(({ sign, text }) => sign + text)].join('\n');
}
