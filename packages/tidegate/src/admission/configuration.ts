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

/** Where the API server finds us: a Service in the cluster, or an address when we run beside it. */
export type Endpoint = { service: { namespace: string; name: string; port: number } } | { url: string };

/**
 * Of what must be answered we are asked only what we judge. Without it a manager that is away would hold up finalizers
 * and labels too, and with them the end of objects and of whole namespaces.
 */
const SPEC_IS_WRITTEN = {
  name: 'spec-is-written',
  expression:
    'oldObject == null || !has(object.spec) || !has(oldObject.spec) || object.spec != oldObject.spec',
};

function matchConditionsOf({ failurePolicy, matchConditions }: AdmissionRule): {
  matchConditions?: MatchCondition[];
} {
  const conditions = [...(failurePolicy === 'Fail' ? [SPEC_IS_WRITTEN] : []), ...(matchConditions?.() ?? [])];
  return conditions.length === 0 ? {} : { matchConditions: conditions };
}

/** What makes the API server ask: one webhook a rule, so that a rule's resources are all that it can hold up. */
export const configurations = (
  rules: readonly AdmissionRule[],
  endpoint: Endpoint,
  caBundle: string,
): { resource: Resource; object: KubeObject }[] => {
  const of = (kind: 'Validating' | 'Mutating', webhooks: object[]): KubeObject => ({
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: `${kind}WebhookConfiguration`,
    metadata: { name: CONFIGURATION_NAME },
    webhooks,
  });
  const webhooks = (mutates: boolean): object[] =>
    rules
      .filter((rule) => (rule.mutates ?? false) === mutates)
      .map((rule) => webhookFor(rule, endpoint, caBundle));
  return [
    { resource: configurationsOf('validating'), object: of('Validating', webhooks(false)) },
    { resource: configurationsOf('mutating'), object: of('Mutating', webhooks(true)) },
  ];
};

const nameOf = ({ subresource, ...rule }: AdmissionRule): string =>
  subresource === undefined ? qualifiedName(rule) : `${subresource}.${qualifiedName(rule)}`;

function webhookFor(rule: AdmissionRule, endpoint: Endpoint, caBundle: string): object {
  const path = rule.mutates ? MUTATE_PATH : VALIDATE_PATH;
  return {
    name: `${nameOf(rule)}.tidegate.io`,
    admissionReviewVersions: ['v1'],
    sideEffects: 'None',
    failurePolicy: rule.failurePolicy,
    ...matchConditionsOf(rule),
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
