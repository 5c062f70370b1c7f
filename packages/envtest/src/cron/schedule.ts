/**
 * Cron schedules of CronJobs: five fields, or a descriptor such as `@daily` or `@every 5m`. Errors have the words of
 * kube-apiserver's parser, github.com/robfig/cron.
 */

/** The values that a field matches. `any` is true for `*` and `?`, which matters for days. */
interface Field {
  values: ReadonlySet<number>;
  any: boolean;
}

interface CalendarSchedule {
  minute: Field;
  hour: Field;
  dayOfMonth: Field;
  month: Field;
  dayOfWeek: Field;
}

interface IntervalSchedule {
  everyMs: number;
}

export type Schedule = CalendarSchedule | IntervalSchedule;

export class ScheduleError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'ScheduleError';
  }
}

interface Bounds {
  min: number;
  max: number;
  names?: string[];
}

const MINUTE: Bounds = { min: 0, max: 59 };
const HOUR: Bounds = { min: 0, max: 23 };
const DAY_OF_MONTH: Bounds = { min: 1, max: 31 };
const MONTH: Bounds = {
  min: 1,
  max: 12,
  names: ['', 'jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'],
};
const DAY_OF_WEEK: Bounds = { min: 0, max: 6, names: ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'] };

const WORDS: Readonly<Record<string, string>> = {
  '@yearly': '0 0 1 1 *',
  '@annually': '0 0 1 1 *',
  '@monthly': '0 0 1 * *',
  '@weekly': '0 0 * * 0',
  '@daily': '0 0 * * *',
  '@midnight': '0 0 * * *',
  '@hourly': '0 * * * *',
};

const UNIT_MS: Readonly<Record<string, number>> = {
  ns: 1e-6,
  us: 1e-3,
  µs: 1e-3,
  ms: 1,
  s: 1000,
  m: 60_000,
  h: 3_600_000,
};
const DURATION_PART = /(\d+(?:\.\d*)?|\.\d+)(ns|us|µs|ms|s|m|h)/g;
const DURATION = new RegExp(`^([+-]?)((?:${DURATION_PART.source})+)$`);

/** Throws a ScheduleError. */
export function parseSchedule(schedule: string): Schedule {
  const text = schedule.replace(/^(CRON_)?TZ=\S*\s+/, '');
  if (!text.startsWith('@')) return parseFields(text);
  if (Object.hasOwn(WORDS, text)) return parseFields(WORDS[text]!);
  if (!text.startsWith('@every ')) throw new ScheduleError(`unrecognized descriptor: ${text}`);
  return { everyMs: parseInterval(text) };
}

/** Returns undefined if the schedule is valid. */
export function scheduleProblem(schedule: string): string | undefined {
  try {
    parseSchedule(schedule);
    return undefined;
  } catch (error) {
    if (error instanceof ScheduleError) return error.message;
    throw error;
  }
}

function parseFields(text: string): CalendarSchedule {
  const fields = text.split(/\s+/).filter((field) => field !== '');
  const [minute, hour, dayOfMonth, month, dayOfWeek] = fields;
  if (dayOfWeek === undefined || fields.length > 5) {
    throw new ScheduleError(`expected exactly 5 fields, found ${fields.length}: [${fields.join(' ')}]`);
  }
  return {
    minute: parseField(minute!, MINUTE),
    hour: parseField(hour!, HOUR),
    dayOfMonth: parseField(dayOfMonth!, DAY_OF_MONTH),
    month: parseField(month!, MONTH),
    dayOfWeek: parseField(dayOfWeek, DAY_OF_WEEK),
  };
}

function parseField(text: string, bounds: Bounds): Field {
  const ranges = text
    .split(',')
    .filter((part) => part !== '')
    .map((part) => parseRange(part, bounds));
  return {
    values: new Set(ranges.flatMap(({ values }) => values)),
    any: ranges.some(({ any }) => any),
  };
}

/** For example `*`, `5`, `1-5` or `mon-fri`, each with an optional `/step`. */
function parseRange(range: string, bounds: Bounds): { values: number[]; any: boolean } {
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
  const values = Array.from({ length: Math.floor((end - start) / step) + 1 }, (_, i) => start + i * step);
  return { values, any: any && step === 1 };
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

/** Durations are rounded down to whole seconds, with a minimum of one second. */
function parseInterval(word: string): number {
  const text = word.slice('@every '.length);
  const [, sign, parts] = DURATION.exec(text) ?? [];
  if (parts === undefined && text !== '0') {
    throw new ScheduleError(
      `failed to parse duration ${word}: time: invalid duration ${JSON.stringify(text)}`,
    );
  }
  let ms = 0;
  for (const [, number, unit] of (parts ?? '').matchAll(DURATION_PART))
    ms += Number(number) * UNIT_MS[unit!]!;
  return Math.max(1000, Math.floor((sign === '-' ? -ms : ms) / 1000) * 1000);
}
