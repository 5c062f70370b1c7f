import type { AdmissionRequest, Operation, Verdict } from './review.ts';

/** What is asked about one resource before it may be written. */
export interface AdmissionRule {
  group: string;
  versions: string[];
  resource: string;
  scope: 'Cluster' | 'Namespaced';
  operations: Operation[];
  /**
   * What becomes of a request while no manager answers. `Ignore`: it goes on, so that people can work; for rules that
   * help. `Fail`: it is refused, if it changes the spec; for rules that protect, since whoever keeps us from answering
   * would be free to do what we forbid.
   */
  failurePolicy: 'Fail' | 'Ignore';
  judge(request: AdmissionRequest): Promise<Verdict> | Verdict;
}

export const ruleFor = (
  rules: readonly AdmissionRule[],
  request: AdmissionRequest,
): AdmissionRule | undefined =>
  rules.find(
    ({ group, resource, operations }) =>
      group === request.resource.group &&
      resource === request.resource.resource &&
      operations.includes(request.operation),
  );
