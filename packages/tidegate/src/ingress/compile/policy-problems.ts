import type { ReadPolicy } from '../attached-policies/index.ts';
import { readAnnotations } from './annotations.ts';

/** A problem of a RoutePolicy or ClusterRoutePolicy. */
export interface PolicyProblem {
  /** For example `spec.cors.allowOrigins`. */
  readonly field: string;
  readonly message: string;
}

/** The problems of a policy on its own: those that every Ingress of its targets has because of it. */
export function policyProblems(policy: ReadPolicy): PolicyProblem[] {
  const owner = { namespace: policy.namespace ?? 'default', name: 'any' };
  const own = `${policy.id} `;
  return readAnnotations({}, owner, [{ policy, target: '' }]).problems.map(({ field, message }) => ({
    field: field.startsWith(own) ? field.slice(own.length) : field,
    message,
  }));
}
