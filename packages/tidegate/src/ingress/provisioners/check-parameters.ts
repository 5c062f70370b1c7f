import { isIP } from 'node:net';
import { labelValueProblems } from '@tidegate/kube';
import { MOST_CLASS_PARAMETER_BYTES, MOST_CLASS_PARAMETERS } from '../../api/index.ts';
import type { MoreParameters, ParameterProblem, ParameterRule, ParameterSchema } from './parameters.ts';

export type Parameters = Readonly<Record<string, string>>;

/** What a provisioner accepts. */
interface AcceptedParameters {
  readonly parameters: ParameterSchema;
  readonly moreParameters?: MoreParameters;
}

export interface CheckedParameters {
  readonly problems: readonly ParameterProblem[];
  /** Keys that are passed on, but that the schema does not list. Only if the schema says to report them. */
  readonly unknown: readonly string[];
}

const MAX_LENGTH = 65_536;

/** The limits of all parameters of a class, wherever they are. A sentence, or undefined. */
export function sizeProblem(parameters: Parameters): string | undefined {
  const entries = Object.entries(parameters);
  if (entries.length > MOST_CLASS_PARAMETERS)
    return `${entries.length} parameters, the limit is ${MOST_CLASS_PARAMETERS}: remove some of them`;
  if (Object.hasOwn(parameters, '')) return 'a parameter name must not be empty';
  const bytes = entries.reduce(
    (sum, [key, value]) => sum + Buffer.byteLength(key) + Buffer.byteLength(String(value)),
    0,
  );
  return bytes <= MOST_CLASS_PARAMETER_BYTES
    ? undefined
    : `keys and values have ${bytes} bytes in total, the limit is ${MOST_CLASS_PARAMETER_BYTES} (256 KiB): remove or shorten some of them`;
}

/** Checks the parameters of a class with the schema of its provisioner and the parameters of all classes. */
export function checkParameters(
  parameters: Parameters,
  { parameters: schema, moreParameters: more }: AcceptedParameters,
  common: Readonly<Record<string, ParameterRule>>,
): CheckedParameters {
  const problems: ParameterProblem[] = [...(more?.problems(parameters) ?? [])];
  const unknown: string[] = [];
  const rules = new Map([...Object.entries(schema.keys), ...Object.entries(common)]);
  for (const [key, value] of Object.entries(parameters)) {
    const rule = rules.get(key);
    if (rule !== undefined) {
      const problem = valueProblem(value, rule);
      if (problem !== undefined)
        problems.push({ key, message: `${JSON.stringify(value.slice(0, 100))} is invalid: ${problem}` });
    } else if (more?.names.has(key)) {
      // `more` has checked it.
    } else if (schema.unknown === 'reject') {
      const message = `is not a parameter of this provisioner. Its parameters are ${[...rules.keys()].toSorted().join(', ')}`;
      problems.push({ key, message });
    } else if (schema.unknown !== 'accept') unknown.push(key);
  }
  for (const [key, { required }] of rules)
    if (required === true && !Object.hasOwn(parameters, key))
      problems.push({ key, message: 'is missing: the provisioner needs it' });
  return { problems, unknown };
}

/** Returns what to write instead, or undefined if the value is valid. */
function valueProblem(value: string, rule: ParameterRule): string | undefined {
  if (value.length > (rule.maxLength ?? MAX_LENGTH))
    return `write at most ${rule.maxLength ?? MAX_LENGTH} characters`;
  const parts = rule.list === true ? value.split(',').map((part) => part.trim()) : [value];
  const problem = parts.map((part) => partProblem(part, rule)).find((found) => found !== undefined);
  if (problem === undefined) return undefined;
  return rule.list === true
    ? `write comma-separated ${problem.replace(/^a number/, 'numbers')}`
    : `write ${problem}`;
}

function partProblem(value: string, rule: ParameterRule): string | undefined {
  if (rule.enum !== undefined)
    return rule.enum.includes(value) ? undefined : `one of ${rule.enum.join(', ')}`;
  if (rule.type === 'boolean')
    return value === 'true' || value === 'false' ? undefined : 'one of true, false';
  if (rule.type === 'integer') return integerProblem(value, rule);
  const format = rule.format === undefined ? undefined : FORMATS[rule.format];
  if (format === undefined) return value.trim() === '' ? 'a text, or remove the parameter' : undefined;
  return format.matches(value) ? undefined : format.means;
}

function integerProblem(value: string, { minimum = 0, maximum = 999_999_999 }: ParameterRule) {
  const number = /^-?\d{1,9}$/.test(value) ? Number(value) : Number.NaN;
  return number >= minimum && number <= maximum ? undefined : `a number from ${minimum} to ${maximum}`;
}

const UUID = /^[0-9a-f]{8}-?([0-9a-f]{4}-?){3}[0-9a-f]{12}$/i;

const FORMATS: Readonly<
  Record<NonNullable<ParameterRule['format']>, { matches: (value: string) => boolean; means: string }>
> = {
  ip: { matches: (value) => isIP(value) !== 0, means: 'IP addresses' },
  name: {
    matches: (value) => value !== '' && labelValueProblems(value).length === 0,
    means: 'a name of at most 63 letters, digits and dashes',
  },
  dnsLabel: {
    matches: (value) => /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/.test(value),
    means: 'a name of lower-case letters, digits and dashes',
  },
  uuid: { matches: (value) => UUID.test(value), means: 'a UUID' },
  duration: {
    matches: (value) => durationMs(value) !== undefined,
    means: 'a time, for example 500ms, 30s, 5m or 1h',
  },
  url: { matches: (value) => /^https?:/.test(value) && URL.canParse(value), means: 'an HTTP or HTTPS URL' },
};

const UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 };

/** Milliseconds of `500ms`, `30s`, `5m` or `1h`. Undefined if the text is not a time. */
export function durationMs(text: string): number | undefined {
  const [, number, unit] = /^(\d{1,6})(ms|s|m|h)$/.exec(text) ?? [];
  return number === undefined || unit === undefined ? undefined : Number(number) * UNITS[unit]!;
}
