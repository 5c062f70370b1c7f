import { type KubeObject, qualifiedName, type Resource } from '@tidegate/kube';
import type { AdmissionRule, MatchCondition } from './rule.ts';
import { MUTATE_PATH, VALIDATE_PATH } from './server.ts';

const CONFIGURATION_NAME = 'tidegate';

const configurationsOf = (kind: 'validating' | 'mutating'): Resource => ({
  group: 'admissionregistration.k8s.io',
  version: 'v1',
  resource: `${kind}webhookconfigurations`,
  namespaced: false,
});

interface Webhook {
  name: string;
  failurePolicy: string;
  matchConditions?: MatchCondition[];
  [field: string]: unknown;
}

export type WebhookConfiguration = KubeObject & { webhooks: Webhook[] };

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

function matchConditionsOf({ failurePolicy, guards, matchConditions }: AdmissionRule): MatchCondition[] {
  const needsSpec = failurePolicy === 'Fail' && guards !== 'metadata';
  return [...(needsSpec ? [SPEC_IS_CHANGED] : []), ...(matchConditions?.() ?? [])];
}

/**
 * When the API server calls a webhook, and what happens if that fails. An API server before Kubernetes 1.28 has no conditions.
 * It calls the webhook for every request, and rules ignore what the conditions exclude. A rule that guards metadata of nodes
 * then allows the request if no manager answers: otherwise all nodes would stop reporting.
 */
function callsOf(
  rule: AdmissionRule,
  hasConditions: boolean,
): { failurePolicy: AdmissionRule['failurePolicy']; matchConditions?: MatchCondition[] } {
  const conditions = matchConditionsOf(rule);
  if (conditions.length === 0) return { failurePolicy: rule.failurePolicy };
  if (hasConditions) return { failurePolicy: rule.failurePolicy, matchConditions: conditions };
  return { failurePolicy: rule.guards === 'metadata' ? 'Ignore' : rule.failurePolicy };
}

/** Whether the API server has kept the conditions. One that has them as a disabled feature drops them without an error. */
export const keepsConditions = (sent: WebhookConfiguration, stored: WebhookConfiguration): boolean =>
  sent.webhooks.every(
    ({ name, matchConditions }) =>
      matchConditions === undefined ||
      stored.webhooks.find((each) => each.name === name)?.matchConditions !== undefined,
  );

/** The webhook configurations: one webhook per rule, so that a failing rule blocks its own resource only. */
export const configurations = (
  rules: readonly AdmissionRule[],
  endpoint: Endpoint,
  caBundle: string,
  { hasConditions = true } = {},
): { resource: Resource; object: WebhookConfiguration }[] => {
  const of = (kind: 'Validating' | 'Mutating', webhooks: Webhook[]): WebhookConfiguration => ({
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: `${kind}WebhookConfiguration`,
    metadata: { name: CONFIGURATION_NAME },
    webhooks,
  });
  const webhooks = (mutates: boolean): Webhook[] =>
    rules
      .filter((rule) => (rule.mutates ?? false) === mutates)
      .map((rule) => webhookFor(rule, endpoint, caBundle, hasConditions));
  return [
    { resource: configurationsOf('validating'), object: of('Validating', webhooks(false)) },
    { resource: configurationsOf('mutating'), object: of('Mutating', webhooks(true)) },
  ];
};

const nameOf = ({ subresource, ...rule }: AdmissionRule): string =>
  subresource === undefined ? qualifiedName(rule) : `${subresource}.${qualifiedName(rule)}`;

function webhookFor(
  rule: AdmissionRule,
  endpoint: Endpoint,
  caBundle: string,
  hasConditions: boolean,
): Webhook {
  const path = rule.mutates ? MUTATE_PATH : VALIDATE_PATH;
  return {
    name: `${nameOf(rule)}.tidegate.io`,
    admissionReviewVersions: ['v1'],
    sideEffects: 'None',
    ...callsOf(rule, hasConditions),
    matchPolicy: 'Equivalent',
    timeoutSeconds: 5,
    clientConfig: {
      ...('url' in endpoint ? { url: `${endpoint.url}${path}` } : { service: { ...endpoint.service, path } }),
      caBundle: Buffer.from(caBundle).toString('base64'),
    },
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
