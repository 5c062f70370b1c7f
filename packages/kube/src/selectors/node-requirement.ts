import { ownField } from '../base/json.ts';
import { LabelMatcher, type LabelOperator, type Labels } from './labels.ts';

/** One requirement of a node affinity. */
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

/**
 * Undefined if the operator is unknown, for example that of a newer API server: the caller decides which result is
 * safer.
 */
export function meetsNodeRequirement(
  { key, operator, values = [] }: NodeRequirement,
  labels: Labels,
): boolean | undefined {
  const known = ownField(OPERATORS, operator);
  return known && new LabelMatcher([{ key, operator: known, values }]).matches(labels);
}
