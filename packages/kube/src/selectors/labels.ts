import { SelectorError } from './error.ts';
import { labelKeyProblems, labelValueProblems } from './label-format.ts';

export type LabelOperator = '=' | '==' | '!=' | 'in' | 'notin' | 'exists' | '!' | 'gt' | 'lt';

export interface LabelRequirement {
  readonly key: string;
  readonly operator: LabelOperator;
  readonly values: readonly string[];
}

export type Labels = Readonly<Record<string, string>>;

/** A label selector in an object, for example in a Deployment. It may be invalid. */
export interface LabelSelector {
  matchLabels?: Record<string, string>;
  matchExpressions?: { key?: string; operator?: string; values?: string[] }[];
}

/** A parsed selector. Without requirements, it matches everything. */
export class LabelMatcher {
  readonly requirements: readonly LabelRequirement[];
  readonly #nothing: boolean;

  constructor(requirements: readonly LabelRequirement[], options: { nothing?: boolean } = {}) {
    this.requirements = requirements.toSorted((a, b) => compare(a.key, b.key));
    this.#nothing = options.nothing ?? false;
  }

  /** True if the selector selects everything. */
  get empty(): boolean {
    return !this.#nothing && this.requirements.length === 0;
  }

  matches(labels: Labels | undefined): boolean {
    if (this.#nothing) return false;
    for (const requirement of this.requirements) {
      if (!requirementMatches(requirement, labels ?? NO_LABELS)) return false;
    }
    return true;
  }

  /** The text form, with the order and spelling of apimachinery. */
  toString(): string {
    return this.requirements.map(formatRequirement).join(',');
  }
}

export const everyLabel = (): LabelMatcher => new LabelMatcher([]);
export const noLabel = (): LabelMatcher => new LabelMatcher([], { nothing: true });

/**
 * Matches objects that have all these labels, for example `spec.selector` of a Service; an empty set matches
 * everything.
 */
export const matcherFromLabels = (labels: Labels): LabelMatcher =>
  new LabelMatcher(Object.entries(labels).map(([key, value]) => ({ key, operator: '=', values: [value] })));

const OBJECT_OPERATORS: Readonly<Record<string, LabelOperator | undefined>> = {
  In: 'in',
  NotIn: 'notin',
  Exists: 'exists',
  DoesNotExist: '!',
};

/**
 * No selector selects nothing, and an empty selector selects everything. This is the rule of Kubernetes, and a
 * frequent source of surprises.
 */
export function matcherFromSelector(selector: LabelSelector | null | undefined): LabelMatcher {
  if (selector === null || selector === undefined) return noLabel();
  const requirements = Object.entries(selector.matchLabels ?? {}).map(([key, value]) =>
    newRequirement(key, '=', [value]),
  );
  for (const { key = '', operator = '', values = [] } of selector.matchExpressions ?? []) {
    const known = Object.hasOwn(OBJECT_OPERATORS, operator) ? OBJECT_OPERATORS[operator] : undefined;
    if (known === undefined) {
      throw new SelectorError(`${JSON.stringify(operator)} is not a valid label selector operator`);
    }
    requirements.push(newRequirement(key, known, values));
  }
  return new LabelMatcher(requirements);
}

/** Validates like apimachinery; all problems of one requirement are reported together. */
export function newRequirement(
  key: string,
  operator: LabelOperator,
  values: readonly string[],
): LabelRequirement {
  const problems: string[] = [];
  const keyProblems = labelKeyProblems(key);
  if (keyProblems.length > 0) problems.push(invalid('key', key, keyProblems.join('; ')));
  problems.push(...valueCountProblems(operator, values));
  values.forEach((value, i) => {
    const valueProblems = labelValueProblems(value);
    if (valueProblems.length > 0)
      problems.push(invalid(`values[${i}][${key}]`, value, valueProblems.join('; ')));
  });
  if (problems.length > 0) {
    throw new SelectorError(problems.length === 1 ? problems[0]! : `[${[...new Set(problems)].join(', ')}]`);
  }
  return { key, operator, values };
}

function valueCountProblems(operator: LabelOperator, values: readonly string[]): string[] {
  switch (operator) {
    case 'in':
    case 'notin':
      if (values.length > 0) return [];
      return [invalid('values', values, "for 'in', 'notin' operators, values set can't be empty")];
    case '=':
    case '==':
    case '!=':
      if (values.length === 1) return [];
      return [invalid('values', values, 'exact-match compatibility requires one single value')];
    case 'exists':
    case '!':
      if (values.length === 0) return [];
      return [invalid('values', values, 'values set must be empty for exists and does not exist')];
    case 'gt':
    case 'lt': {
      const problems: string[] = [];
      if (values.length !== 1) {
        problems.push(invalid('values', values, "for 'Gt', 'Lt' operators, exactly one value is required"));
      }
      values.forEach((value, i) => {
        if (parseInt64(value) !== undefined) return;
        problems.push(
          invalid(`values[${i}]`, value, "for 'Gt', 'Lt' operators, the value must be an integer"),
        );
      });
      return problems;
    }
  }
}

export const invalid = (path: string, value: unknown, detail: string): string =>
  `${path}: Invalid value: ${JSON.stringify(value)}: ${detail}`;

const NO_LABELS: Labels = {};

function requirementMatches({ key, operator, values }: LabelRequirement, labels: Labels): boolean {
  const value = Object.hasOwn(labels, key) ? labels[key] : undefined;
  switch (operator) {
    case '=':
    case '==':
    case 'in':
      return value !== undefined && values.includes(value);
    case '!=':
    case 'notin':
      return value === undefined || !values.includes(value);
    case 'exists':
      return value !== undefined;
    case '!':
      return value === undefined;
    case 'gt':
    case 'lt': {
      const actual = value === undefined ? undefined : parseInt64(value);
      const bound = parseInt64(values[0] ?? '');
      if (actual === undefined || bound === undefined) return false;
      return operator === 'gt' ? actual > bound : actual < bound;
    }
  }
}

function formatRequirement({ key, operator, values }: LabelRequirement): string {
  switch (operator) {
    case 'exists':
      return key;
    case '!':
      return `!${key}`;
    case 'in':
    case 'notin':
      return `${key} ${operator} (${values.toSorted(compare).join(',')})`;
    case 'gt':
      return `${key}>${values[0]}`;
    case 'lt':
      return `${key}<${values[0]}`;
    default:
      return `${key}${operator}${values[0]}`;
  }
}

const INT64_MAX = 2n ** 63n - 1n;

function parseInt64(text: string): bigint | undefined {
  if (!/^[+-]?[0-9]+$/.test(text)) return undefined;
  const value = BigInt(text.startsWith('+') ? text.slice(1) : text);
  return value > INT64_MAX || value < -INT64_MAX - 1n ? undefined : value;
}

export function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
