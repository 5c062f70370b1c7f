import type { AdmissionRequest, Operation, Verdict } from './review.ts';

/** What is asked about one resource before it may be written. */
export interface AdmissionRule {
  group: string;
  versions: string[];
  resource: string;
  scope: 'Cluster' | 'Namespaced';
  operations: Operation[];
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
