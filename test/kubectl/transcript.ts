/**
 * A transcript is a text that can be read and replayed: commands and their output.
 *
 *     # a sentence of what the case shows
 *     $ kubectl apply -f - <<EOF
 *     > kind: ConfigMap
 *     > EOF
 *     error: ...
 *     [exit 1]
 *
 * `# ` starts a remark, `$ ` a command, and `> ` continues the command. Everything else is output: stdout and stderr
 * in the order in which they were written. `[exit N]` ends the output unless N is 0. An output line that starts with
 * one of these marks is escaped with a backslash. Blank lines at the end of an output are ignored.
 */

/** A line that is not part of a command, for example a comment. */
export interface Remark {
  readonly kind: 'remark';
  readonly text: string;
}

/** A command and its recorded output. */
export interface Command {
  readonly kind: 'command';
  /** The script for bash, including heredocs. */
  readonly script: string;
  /** Output lines as in the file, including `[exit N]`. */
  readonly output: readonly string[];
}

export type Step = Remark | Command;

const MARK = /^(?:[#$>] |[#$>]$|\[exit \d+\]$|\\)/;

/** Parses a file of `test/kubectl/cases`. The inverse of `renderTranscript`. */
export function parseTranscript(text: string): Step[] {
  const steps: Step[] = [];
  const lines = text.replace(/\n+$/, '').split('\n');
  for (let at = 0; at < lines.length; ) {
    const line = lines[at] as string;
    if (!line.startsWith('$ ')) {
      steps.push({ kind: 'remark', text: line });
      at++;
      continue;
    }
    const script = [line.slice(2)];
    for (at++; isContinuation(lines[at]); at++) script.push((lines[at] as string).slice(2));
    const output: string[] = [];
    for (; at < lines.length && !isStart(lines[at] as string); at++) output.push(lines[at] as string);
    const layout = trailingBlanks(output);
    steps.push({
      kind: 'command',
      script: script.join('\n'),
      output: output.slice(0, output.length - layout),
    });
    for (let blank = 0; blank < layout; blank++) steps.push({ kind: 'remark', text: '' });
  }
  return steps;
}

/** The text of a transcript, as it is stored. */
export function renderTranscript(steps: readonly Step[]): string {
  const lines = steps.flatMap((step) => (step.kind === 'remark' ? [step.text] : renderCommand(step)));
  return `${lines.join('\n')}\n`;
}

/** The output of a command as lines of a transcript. */
export function outputLines(output: string, exitCode: number): string[] {
  const lines = output.split('\n').map((line) => (MARK.test(line) ? `\\${line}` : line));
  const kept = lines.slice(0, lines.length - trailingBlanks(lines));
  return exitCode === 0 ? kept : [...kept, `[exit ${exitCode}]`];
}

/** The commands whose output differs from the recording, each with the lines that differ; empty if there are none. */
export function differences(recorded: readonly Step[], replayed: readonly Step[]): string {
  return recorded
    .flatMap((step, index) => {
      const other = replayed[index];
      if (step.kind !== 'command' || other?.kind !== 'command') return [];
      const lines = lineDifference(step.output, other.output);
      return lines.length === 0 ? [] : [[...renderCommand({ ...step, output: [] }), ...lines, ''].join('\n')];
    })
    .join('\n');
}

/** Uses the longest common subsequence, to show changed lines among many unchanged ones. */
function lineDifference(expected: readonly string[], actual: readonly string[]): string[] {
  const common = [...expected, ''].map(() => new Array<number>(actual.length + 1).fill(0));
  const at = (row: number, column: number) => common[row]?.[column] ?? 0;
  for (let e = expected.length - 1; e >= 0; e--) {
    for (let a = actual.length - 1; a >= 0; a--) {
      const length = expected[e] === actual[a] ? at(e + 1, a + 1) + 1 : Math.max(at(e + 1, a), at(e, a + 1));
      (common[e] as number[])[a] = length;
    }
  }
  const lines: string[] = [];
  for (let e = 0, a = 0; e < expected.length || a < actual.length; ) {
    if (e < expected.length && a < actual.length && expected[e] === actual[a]) {
      e++;
      a++;
    } else if (a >= actual.length || (e < expected.length && at(e + 1, a) >= at(e, a + 1))) {
      lines.push(`- ${expected[e++]}`);
    } else {
      lines.push(`+ ${actual[a++]}`);
    }
  }
  return lines;
}

function renderCommand(command: Command): string[] {
  const [first, ...more] = command.script.split('\n');
  return [`$ ${first}`, ...more.map((line) => (line === '' ? '>' : `> ${line}`)), ...command.output];
}

function isContinuation(line: string | undefined): boolean {
  return line !== undefined && (line.startsWith('> ') || line === '>');
}

function isStart(line: string): boolean {
  return line.startsWith('$ ') || line.startsWith('# ');
}

function trailingBlanks(lines: readonly string[]): number {
  let count = 0;
  while (count < lines.length && lines[lines.length - 1 - count] === '') count++;
  return count;
}
