/** Cron schedules: five fields, or a word like `@daily`. Says what is wrong, as the server's parser says it. */
interface Bounds {
  min: number;
  max: number;
  names?: string[];
}

const FIELDS: Bounds[] = [
  { min: 0, max: 59 },
  { min: 0, max: 23 },
  { min: 1, max: 31 },
  {
    min: 1,
    max: 12,
    names: ['', 'jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'],
  },
  { min: 0, max: 6, names: ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'] },
];
const WORDS = new Set(['@yearly', '@annually', '@monthly', '@weekly', '@daily', '@midnight', '@hourly']);
const DURATION = /^[+-]?(\d+(\.\d*)?|\.\d+)(ns|us|µs|ms|s|m|h)((\d+(\.\d*)?|\.\d+)(ns|us|µs|ms|s|m|h))*$/;

class ScheduleError extends Error {}

/** Undefined when the schedule can be read. */
export function scheduleProblem(schedule: string): string | undefined {
  try {
    checkSchedule(schedule.replace(/^(CRON_)?TZ=\S*\s+/, ''));
    return undefined;
  } catch (error) {
    if (error instanceof ScheduleError) return error.message;
    throw error;
  }
}

function checkSchedule(schedule: string): void {
  if (schedule.startsWith('@')) {
    checkWord(schedule);
    return;
  }
  const fields = schedule.split(/\s+/).filter((field) => field !== '');
  if (fields.length !== FIELDS.length) {
    throw new ScheduleError(`expected exactly 5 fields, found ${fields.length}: [${fields.join(' ')}]`);
  }
  for (const [i, bounds] of FIELDS.entries()) {
    for (const range of (fields[i] ?? '').split(',').filter((part) => part !== '')) checkRange(range, bounds);
  }
}

function checkWord(word: string): void {
  if (WORDS.has(word)) return;
  if (!word.startsWith('@every ')) throw new ScheduleError(`unrecognized descriptor: ${word}`);
  const duration = word.slice('@every '.length);
  if (DURATION.test(duration) || duration === '0') return;
  throw new ScheduleError(
    `failed to parse duration ${word}: time: invalid duration ${JSON.stringify(duration)}`,
  );
}

/** `*`, `5`, `1-5`, `mon-fri`, each with an optional `/step`. */
function checkRange(range: string, bounds: Bounds): void {
  const [span = '', ...steps] = range.split('/');
  const ends = span.split('-');
  const any = ends[0] === '*' || ends[0] === '?';
  const start = any ? bounds.min : numberOf(ends[0] ?? '', bounds.names);
  if (!any && ends.length > 2) throw new ScheduleError(`too many hyphens: ${range}`);
  let end = any ? bounds.max : ends[1] === undefined ? start : numberOf(ends[1], bounds.names);
  if (steps.length > 1) throw new ScheduleError(`too many slashes: ${range}`);
  const step = steps[0] === undefined ? 1 : numberOf(steps[0]);
  if (steps.length === 1 && ends.length === 1) end = bounds.max;
  if (start < bounds.min) {
    throw new ScheduleError(`beginning of range (${start}) below minimum (${bounds.min}): ${range}`);
  }
  if (end > bounds.max)
    throw new ScheduleError(`end of range (${end}) above maximum (${bounds.max}): ${range}`);
  if (start > end)
    throw new ScheduleError(`beginning of range (${start}) beyond end of range (${end}): ${range}`);
  if (step === 0) throw new ScheduleError(`step of range should be a positive number: ${range}`);
}

function numberOf(text: string, names: string[] = []): number {
  const named = text === '' ? -1 : names.indexOf(text.toLowerCase());
  if (named >= 0) return named;
  if (!/^[+-]?\d+$/.test(text)) {
    const why = `strconv.Atoi: parsing ${JSON.stringify(text)}: invalid syntax`;
    throw new ScheduleError(`failed to parse int from ${text}: ${why}`);
  }
  const value = Number(text);
  if (value < 0) throw new ScheduleError(`negative number (${value}) not allowed: ${text}`);
  return value;
}
