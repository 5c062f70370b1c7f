import type { KubeObject } from '@tidegate/kube';
import { configurations, type Endpoint } from './configuration.ts';
import { admissionRules, type RuleSources } from './rules/index.ts';

/** The Service in deploy/manager.yaml. */
const ENDPOINT: Endpoint = {
  service: { namespace: 'tidegate-system', name: 'tidegate-webhook', port: 443 },
};

/** An empty cluster: conditions that depend on classes and pools match nothing but what is always protected. */
const NOTHING = {
  membership: { selectorKeys: () => new Set<string>() },
  ingresses: { classes: { list: () => [] } },
  registration: 'allow',
} as unknown as RuleSources;

/**
 * The webhook configurations in deploy/, which scripts/generate-webhooks.js writes. The manager adds the CA bundle, and keeps
 * the conditions current.
 */
export const webhookManifests = (features: { conditions: boolean }): KubeObject[] =>
  configurations(admissionRules(NOTHING), ENDPOINT, features).map(({ object }) => object);
