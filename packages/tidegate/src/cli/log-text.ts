/** Log lines for people. The programs write JSON, one object per line, as pino does. Pure functions. */

export interface TextOptions {
  /** The component that wrote the line, if lines of several are mixed. */
  component?: string;
  color?: boolean;
}

interface Entry {
  level: number;
  time: number;
  msg?: string;
  err?: { message?: string; stack?: string };
  fields: [name: string, value: unknown][];
}

const LEVELS: Readonly<Record<number, { name: string; color: number }>> = {
  10: { name: 'TRACE', color: 90 },
  20: { name: 'DEBUG', color: 90 },
  30: { name: 'INFO', color: 32 },
  40: { name: 'WARN', color: 33 },
  50: { name: 'ERROR', color: 31 },
  60: { name: 'FATAL', color: 31 },
};
const DIM = 90;
/** The same in all lines of a process. */
const HIDDEN = new Set(['level', 'time', 'msg', 'err', 'pid', 'hostname', 'component']);

/** One line of a log, for a terminal: time, level, component, message, fields. Other text is left as it is. */
export function logText(line: string, { component, color = false }: TextOptions = {}): string {
  const paint = (code: number, text: string): string => (color ? `\u001b[${code}m${text}\u001b[0m` : text);
  const entry = parseEntry(line);
  const prefix = component === undefined ? [] : [paint(36, component)];
  if (entry === undefined) return [...prefix, plain(line)].join('  ');
  const { name, color: code } = LEVELS[entry.level] ?? { name: String(entry.level), color: DIM };
  const message = [entry.msg, entry.err?.message]
    .filter((part) => part !== undefined && part !== '')
    .join(': ');
  const fields = entry.fields.map(([key, value]) => paint(DIM, `${key}=${valueText(value)}`));
  const head = [
    paint(DIM, new Date(entry.time).toISOString().slice(11, 23)),
    paint(code, name.padEnd(5)),
    ...prefix,
    [plain(message), ...fields].join(' '),
  ].join('  ');
  return [head, ...stackOf(entry).map((frame) => paint(DIM, frame))].join('\n');
}

/** The time of a line in milliseconds since the epoch; undefined if it has none. */
export const timeOf = (line: string): number | undefined => parseEntry(line)?.time;

/** The line as JSON, with the component that wrote it. Text that is not JSON becomes the message. */
export function logJson(line: string, component: string): string {
  const entry = parseObject(line) ?? { msg: line };
  return JSON.stringify({ component, ...entry });
}

function parseEntry(line: string): Entry | undefined {
  const object = parseObject(line);
  if (object === undefined) return undefined;
  const { level, time, msg, err } = object;
  if (typeof level !== 'number' || typeof time !== 'number') return undefined;
  return {
    level,
    time,
    ...(typeof msg === 'string' && { msg }),
    ...(typeof err === 'object' && err !== null && { err }),
    fields: Object.entries(object).filter(([name]) => !HIDDEN.has(name)),
  };
}

function parseObject(line: string): Record<string, unknown> | undefined {
  if (!line.startsWith('{')) return undefined;
  try {
    return JSON.parse(line) as Record<string, unknown>;
  } catch {
    return undefined; // A line that a full disk or a crash cut off.
  }
}

/** The frames of an unexpected error: expected ones are logged as warnings. */
function stackOf({ level, err }: Entry): string[] {
  const lines = level >= 50 ? (err?.stack?.split('\n') ?? []) : [];
  return lines.filter((line) => /^\s+at /.test(line)).map((line) => `    ${plain(line.trim())}`);
}

function valueText(value: unknown): string {
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return plain(/^[^\s"=]+$/.test(text) ? text : JSON.stringify(text));
}

/** What others wrote to a log must not control the terminal. */
const plain = (text: string): string =>
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is removed
  text.replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g, '');
