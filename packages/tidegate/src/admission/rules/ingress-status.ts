/**
 * The status of Ingresses. API servers let a user that may write it change annotations too, and the annotations of an Ingress decide
 * what is served. So they are reviewed as if the Ingress itself was written.
 */
import type { AdmissionRule, MatchCondition } from '../rule.ts';
import { type IngressSources, ingressRule } from './ingress.ts';

const annotationsOf = (object: string): string =>
  `(has(${object}.metadata.annotations) ? ${object}.metadata.annotations : {})`;

/** Controllers write addresses often, and annotations never. */
const ANNOTATIONS_ARE_CHANGED: MatchCondition = {
  name: 'annotations-are-changed',
  expression: `${annotationsOf('object')} != ${annotationsOf('oldObject')}`,
};

export const ingressStatusRule = (sources: IngressSources, now: () => number): AdmissionRule => {
  const rule = ingressRule(sources, now);
  return {
    ...rule,
    subresource: 'status',
    operations: ['UPDATE'],
    matchConditions: () => [ANNOTATIONS_ARE_CHANGED, ...(rule.matchConditions?.() ?? [])],
  };
};
