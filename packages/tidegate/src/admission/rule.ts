import type { AdmissionRequest, Operation, Verdict } from './review.ts';

/** In CEL: what must hold of a request for us to be asked. */
export interface MatchCondition {
  name: string;
  expression: string;
}

/** What is asked about one resource before it may be written. */
export interface AdmissionRule {
  group: string;
  versions: string[];
  resource: string;
  /** Such as `status`. Default: the object itself. */
  subresource?: string;
  scope: 'Cluster' | 'Namespaced';
  operations: Operation[];
  /**
   * What becomes of a request while no manager answers. `Ignore`: it goes on, so that people can work; for rules that
   * help. `Fail`: it is refused, if it changes the spec; for rules that protect, since whoever keeps us from answering
   * would be free to do what we forbid.
   */
  failurePolicy: 'Fail' | 'Ignore';
  /** It changes what is written, instead of judging it. */
  mutates?: true;
  /** May change with what is in the cluster. */
  matchConditions?(): readonly MatchCondition[];
  judge(request: AdmissionRequest): Promise<Verdict> | Verdict;
}

export const ruleFor = (
  rules: readonly AdmissionRule[],
  request: AdmissionRequest,
  mutating = false,
): AdmissionRule | undefined =>
  rules.find(
    ({ group, resource, subresource, operations, mutates = false }) =>
      mutates === mutating &&
      group === request.resource.group &&
      resource === request.resource.resource &&
      (subresource ?? '') === (request.subResource ?? '') &&
      operations.includes(request.operation),
  );
