/**
 * The subset of JSONPath for printer columns, selectable fields and scale:
 * `.spec.replicas`, `.metadata.labels.a\.b`, `.items[0]`, `.items[*].name`, `.conditions[?(@.type=="Ready")].status`.
 */
type Step =
  | { type: 'field'; name: string }
  | { type: 'index'; index: number }
  | { type: 'all' }
  | { type: 'filter'; path: Step[]; operator: string; value: unknown };

/** Returns all values at the path; an empty list if there are none. */
export type JsonPath = (root: unknown) => unknown[];

/** Returns undefined if the text is not a valid path. */
export function compileJsonPath(text: string): JsonPath | undefined {
  const steps = parse(text);
  return steps === undefined ? undefined : (root) => evaluate([root], steps);
}

const FIELD = /^\.?((?:\\.|[^.[\]\\])+)/;
const BRACKET = /^\[(?:(-?\d+)|(\*)|'([^']*)'|"([^"]*)"|\?\((.*?)\))\]/;
const FILTER = /^\s*@((?:\.[^=!<>\s]+)+)\s*(==|!=|<=|>=|<|>)\s*(.+?)\s*$/;

function parse(text: string): Step[] | undefined {
  const steps: Step[] = [];
  let rest = text;
  while (rest !== '') {
    const bracket = BRACKET.exec(rest);
    const field = bracket === null ? FIELD.exec(rest) : null;
    const step = bracket === null ? fieldStep(field?.[1]) : bracketStep(bracket);
    if (step === undefined) return undefined;
    steps.push(step);
    rest = rest.slice((bracket ?? field)?.[0].length ?? 0);
    if (rest === '.') return undefined;
  }
  return steps;
}

function fieldStep(name: string | undefined): Step | undefined {
  if (name === undefined) return undefined;
  return name === '*' ? { type: 'all' } : { type: 'field', name: name.replace(/\\(.)/g, '$1') };
}

function bracketStep([, index, all, single, double, filter]: RegExpExecArray): Step | undefined {
  if (index !== undefined) return { type: 'index', index: Number(index) };
  if (all !== undefined) return { type: 'all' };
  const quoted = single ?? double;
  if (quoted !== undefined) return { type: 'field', name: quoted };
  const parts = FILTER.exec(filter ?? '');
  const path = parts === null ? undefined : parse(parts[1] ?? '');
  const operator = parts?.[2];
  if (path === undefined || operator === undefined) return undefined;
  return { type: 'filter', path, operator, value: literal(parts?.[3] ?? '') };
}

function literal(text: string): unknown {
  const quoted = /^(['"])(.*)\1$/.exec(text);
  if (quoted !== null) return quoted[2];
  if (text === 'true' || text === 'false') return text === 'true';
  return Number.isNaN(Number(text)) ? text : Number(text);
}

function evaluate(values: unknown[], steps: Step[]): unknown[] {
  return steps.reduce((at, step) => at.flatMap((value) => take(value, step)), values);
}

function take(value: unknown, step: Step): unknown[] {
  if (typeof value !== 'object' || value === null) return [];
  switch (step.type) {
    case 'field': {
      const object = value as Record<string, unknown>;
      return Object.hasOwn(object, step.name) && !Array.isArray(value) ? [object[step.name]] : [];
    }
    case 'index':
      return Array.isArray(value) ? value.slice(step.index).slice(0, 1) : [];
    case 'all':
      return Object.values(value);
    case 'filter':
      return Object.values(value).filter((item) =>
        evaluate([item], step.path).some((found) => compare(found, step)),
      );
  }
}

function compare(found: unknown, { operator, value }: Extract<Step, { type: 'filter' }>): boolean {
  if (operator === '==') return found === value;
  if (operator === '!=') return found !== value;
  if (typeof found !== typeof value || (typeof found !== 'number' && typeof found !== 'string')) return false;
  const other = value as typeof found;
  if (operator === '<') return found < other;
  if (operator === '<=') return found <= other;
  return operator === '>' ? found > other : found >= other;
}
