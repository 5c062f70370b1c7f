import { type KubeObject, qualifiedName, type Resource } from '@tidegate/kube';
import type { AdmissionRule, MatchCondition } from './rule.ts';
import { MUTATE_PATH, VALIDATE_PATH } from './server.ts';

export const CONFIGURATION_NAME = 'tidegate';

/** How the API server reaches the webhook: a Service in the cluster, or a URL if the manager runs outside it. */
export type Endpoint = { service: { namespace: string; name: string; port: number } } | { url: string };

/**
 * Limits webhooks with the failure policy `Fail` to requests that change the spec. Otherwise an unreachable manager would
 * also block changes of finalizers and labels, and with them the deletion of objects and namespaces.
 */
const SPEC_IS_CHANGED = {
  name: 'spec-is-changed',
  expression:
    'oldObject == null || !has(object.spec) || !has(oldObject.spec) || object.spec != oldObject.spec',
};

/** One webhook, as it is in a configuration. */
export interface Webhook {
  readonly name: string;
  readonly clientConfig: { readonly url?: string; readonly service?: object; readonly caBundle?: string };
  readonly matchConditions?: readonly MatchCondition[];
  readonly [fixed: string]: unknown;
}

export interface WebhookConfiguration extends KubeObject {
  webhooks?: readonly Webhook[];
}

/** A configuration as it should be, except for the CA bundle. */
export interface Expected {
  readonly resource: Resource<WebhookConfiguration>;
  readonly object: WebhookConfiguration & { readonly webhooks: readonly Webhook[] };
}

/**
 * The webhook configurations: one webhook per rule, so that a failing rule blocks its own resource only. `conditions`:
 * whether the API server knows `matchConditions`.
 */
export const configurations = (
  rules: readonly AdmissionRule[],
  endpoint: Endpoint,
  { conditions }: { conditions: boolean },
): Expected[] =>
  (['Validating', 'Mutating'] as const).map((kind) => ({
    resource: configurationsOf(kind),
    object: {
      apiVersion: 'admissionregistration.k8s.io/v1',
      kind: `${kind}WebhookConfiguration`,
      metadata: { name: CONFIGURATION_NAME },
      webhooks: rules
        .filter((rule) => (rule.mutates ?? false) === (kind === 'Mutating'))
        .map((rule) => webhookFor(rule, endpoint, conditions)),
    },
  }));

export const configurationsOf = (kind: 'Validating' | 'Mutating'): Resource<WebhookConfiguration> => ({
  group: 'admissionregistration.k8s.io',
  version: 'v1',
  resource: `${kind.toLowerCase()}webhookconfigurations`,
  namespaced: false,
});

const nameOf = ({ subresource, ...rule }: AdmissionRule): string =>
  subresource === undefined ? qualifiedName(rule) : `${subresource}.${qualifiedName(rule)}`;

function webhookFor(rule: AdmissionRule, endpoint: Endpoint, conditions: boolean): Webhook {
  const path = rule.mutates ? MUTATE_PATH : VALIDATE_PATH;
  return {
    name: `${nameOf(rule)}.tidegate.io`,
    admissionReviewVersions: ['v1'],
    sideEffects: 'None',
    failurePolicy: failurePolicyOf(rule, conditions),
    ...(conditions && matchConditionsOf(rule)),
    matchPolicy: 'Equivalent',
    timeoutSeconds: 5,
    clientConfig:
      'url' in endpoint ? { url: `${endpoint.url}${path}` } : { service: { ...endpoint.service, path } },
    rules: [
      {
        apiGroups: [rule.group],
        apiVersions: rule.versions,
        resources: [rule.subresource === undefined ? rule.resource : `${rule.resource}/${rule.subresource}`],
        operations: rule.operations,
        scope: rule.scope,
      },
    ],
  };
}

/**
 * A rule that guards metadata fails closed only where conditions limit it to what it guards. Otherwise, an unreachable manager
 * would block every change, for example the heartbeats of all nodes.
 */
const failurePolicyOf = ({ failurePolicy, guards }: AdmissionRule, conditions: boolean): 'Fail' | 'Ignore' =>
  guards === 'metadata' && !conditions ? 'Ignore' : failurePolicy;

function matchConditionsOf({ failurePolicy, guards, matchConditions }: AdmissionRule): {
  matchConditions?: MatchCondition[];
} {
  const needsSpec = failurePolicy === 'Fail' && guards !== 'metadata';
  const conditions = [...(needsSpec ? [SPEC_IS_CHANGED] : []), ...(matchConditions?.() ?? [])];
  return conditions.length === 0 ? {} : { matchConditions: conditions };
}
