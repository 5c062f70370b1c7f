import { type KubeObject, qualifiedName, type Resource } from '../kube/index.ts';
import type { AdmissionRule } from './rule.ts';
import { VALIDATE_PATH } from './server.ts';

const CONFIGURATION_NAME = 'tidegate';

export const VALIDATING_CONFIGURATIONS: Resource = {
  group: 'admissionregistration.k8s.io',
  version: 'v1',
  resource: 'validatingwebhookconfigurations',
  namespaced: false,
};

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

/** What makes the API server ask: one webhook a rule, so that a rule's resources are all that it can hold up. */
export const validatingConfiguration = (
  rules: readonly AdmissionRule[],
  endpoint: Endpoint,
  caBundle: string,
): KubeObject => ({
  apiVersion: 'admissionregistration.k8s.io/v1',
  kind: 'ValidatingWebhookConfiguration',
  metadata: { name: CONFIGURATION_NAME },
  webhooks: rules.map((rule) => ({
    name: `${qualifiedName(rule)}.tidegate.io`,
    admissionReviewVersions: ['v1'],
    sideEffects: 'None',
    failurePolicy: rule.failurePolicy,
    ...(rule.failurePolicy === 'Fail' && { matchConditions: [SPEC_IS_WRITTEN] }),
    matchPolicy: 'Equivalent',
    timeoutSeconds: 5,
    clientConfig: {
      ...('url' in endpoint
        ? { url: `${endpoint.url}${VALIDATE_PATH}` }
        : { service: { ...endpoint.service, path: VALIDATE_PATH } }),
      caBundle: Buffer.from(caBundle).toString('base64'),
    },
    rules: [
      {
        apiGroups: [rule.group],
        apiVersions: rule.versions,
        resources: [rule.resource],
        operations: rule.operations,
        scope: rule.scope,
      },
    ],
  })),
});
