import type { AdmissionRequest, AdmissionResult, Operation } from './review.ts';

/** A CEL expression that the API server evaluates. It calls the webhook only if all of them are true. */
export interface MatchCondition {
  name: string;
  expression: string;
}

/** Resolves when it is the turn of this tenant again. */
export type Turn = () => Promise<void>;

/** Validates, or changes, one resource before it is written. Each rule becomes one webhook of its own. */
export interface AdmissionRule {
  group: string;
  versions: string[];
  resource: string;
  /** For example `status`. Default: the resource itself. */
  subresource?: string;
  scope: 'Cluster' | 'Namespaced';
  operations: Operation[];
  /**
   * What happens to a request while no manager answers. `Ignore` allows it, which suits rules that only report mistakes
   * early. `Fail` rejects it if it changes the spec, which suits rules that protect the cluster: otherwise a user
   * could bypass them by keeping the manager busy.
   */
  failurePolicy: 'Fail' | 'Ignore';
  /** The rule protects labels or annotations: `Fail` applies as far as `matchConditions` say, whether the spec changes or not. */
  guards?: 'metadata';
  /** The rule changes the object instead of validating it. */
  mutates?: true;
  /** Computed again when the cluster changes, see `WebhookOptions.onChange`. */
  matchConditions?(): readonly MatchCondition[];
  /** Of a review. Default: 2 MiB. Only objects that are large by nature need more. */
  mostBytes?: number;
  /** A rule that computes for longer than a few milliseconds awaits `turn` now and then, so that reviews of others can run. */
  evaluate(request: AdmissionRequest, turn?: Turn): Promise<AdmissionResult> | AdmissionResult;
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
