/** The command blocks of a Markdown page, each with the output that the page shows for it. */
export interface CommandBlock {
  /** Where the block starts, for messages. */
  readonly line: number;
  readonly commands: string;
  /** The `text` block that follows, when there is one. */
  readonly output?: string | undefined;
}

interface Fence {
  readonly language: string;
  readonly line: number;
  readonly body: string;
}

/** A page names shell commands with `sh` and their output with `text`, directly below. */
export function commandBlocks(markdown: string): CommandBlock[] {
  const fences = fencesOf(markdown);
  return fences.flatMap((fence, index) => {
    if (fence.language !== 'sh') return [];
    const next = fences[index + 1];
    const output = next?.language === 'text' ? next.body : undefined;
    return [{ line: fence.line, commands: fence.body, output }];
  });
}

function fencesOf(markdown: string): Fence[] {
  const fences: Fence[] = [];
  const lines = markdown.split('\n');
  for (let start = 0; start < lines.length; start++) {
    const [, indent = '', language = ''] = /^( *)```(\w*)/.exec(lines[start] ?? '') ?? [];
    if (!lines[start]?.startsWith(`${indent}\`\`\``)) continue;
    const end = lines.findIndex((line, index) => index > start && line.startsWith(`${indent}\`\`\``));
    if (end < 0) throw new Error(`line ${start + 1}: the block has no end`);
    const body = lines.slice(start + 1, end).map((line) => line.slice(indent.length));
    fences.push({ language, line: start + 1, body: body.join('\n') });
    start = end;
  }
  return fences;
}

/**
 * Reads the cluster and changes nothing, so the block can run again until the cluster shows what the page shows.
 * Definitions of functions and variables count: they only repeat what is known.
 */
export const isRepeatable = (commands: string): boolean =>
  commands
    .replaceAll('\\\n', ' ')
    .split('\n')
    .filter((line) => line.trim() !== '' && !line.startsWith('#'))
    .every((line) => READS.test(line));

const READS =
  /^(?:curl |kubectl (?:get|describe|logs|wait) |kubectl -n \S+ get |tidegate (?:status|trace|get|describe|render|diff)\b|[a-z_]+=|[a-z_]+\(\) |export )/;

/**
 * Names, addresses, times and sizes differ from run to run. What is compared is the rest: words, columns and their order.
 * Every number becomes N, the names that the cluster chooses lose their random part, and spaces only separate.
 */
export const comparable = (output: string): string[] =>
  output
    .replace(/-[a-z0-9]{8,10}-[a-z0-9]{5}\b/g, '-*')
    .replace(/\b[0-9a-f]{16}-[0-9a-f]+-[0-9a-f]+\b/g, '*')
    .replace(/\bnode-[a-e]\b/g, 'node-*')
    .replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, 'TIME')
    .replace(/\b(?:\d+[dhms])+\b/g, 'N')
    .replace(/\d+/g, 'N')
    .replace(/N(?:\.N)+/g, 'N')
    .split('\n')
    .map((line) => line.replace(/\s+/g, ' ').trim())
    .filter((line) => line !== '');

/** A line `...` on the page stands for any number of lines, and `...` at the end of a line for the rest of it. */
export function matches(expected: readonly string[], actual: readonly string[]): boolean {
  const [first, ...rest] = expected;
  if (first === undefined) return actual.length === 0;
  if (first === '...')
    return rest.length === 0 || actual.some((_, index) => matches(rest, actual.slice(index)));
  const [found, ...others] = actual;
  return found !== undefined && matchesLine(first, found) && matches(rest, others);
}

const matchesLine = (expected: string, actual: string): boolean =>
  expected.endsWith(' ...') ? actual.startsWith(expected.slice(0, -3)) : actual === expected;
