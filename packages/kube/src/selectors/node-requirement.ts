import { LabelMatcher, type LabelOperator, type Labels } from './labels.ts';

/** One line of a node affinity. */
export interface NodeRequirement {
  key: string;
  operator: string;
  values?: string[];
}

const OPERATORS: Readonly<Record<string, LabelOperator | undefined>> = {
  In: 'in',
  NotIn: 'notin',
  Exists: 'exists',
  DoesNotExist: '!',
  Gt: 'gt',
  Lt: 'lt',
};

/** Undefined when a newer API server knows the operator and we do not: the caller decides on which side to err. */
export function meetsNodeRequirement(
  { key, operator, values = [] }: NodeRequirement,
  labels: Labels,
): boolean | undefined {
  const known = OPERATORS[operator];
  return known && new LabelMatcher([{ key, operator: known, values }]).matches(labels);
}
