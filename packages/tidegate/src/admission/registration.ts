import { isDeepStrictEqual } from 'node:util';
import { isConflict, isForbidden, isNotFound, type KubeClient, orAborted } from '@tidegate/kube';
import {
  CONFIGURATION_NAME,
  configurations,
  configurationsOf,
  type Endpoint,
  type Expected,
  type Webhook,
  type WebhookConfiguration,
} from './configuration.ts';
import type { AdmissionRule, MatchCondition } from './rule.ts';

export interface RegistrationOptions {
  client: KubeClient;
  rules: readonly AdmissionRule[];
  endpoint: Endpoint;
  /**
   * Whether to create the configurations, and to correct everything in them. Otherwise the administrator creates them
   * (deploy/base/webhooks.yaml), and the manager writes the CA bundle and the conditions only. A manager that may change the
   * rules could see and change every request to the API server.
   */
  installs: boolean;
  fieldManager: string;
}

/** Kubernetes 1.30 and later serve it. They also know `matchConditions`. */
const POLICIES = {
  group: 'admissionregistration.k8s.io',
  version: 'v1',
  resource: 'validatingadmissionpolicies',
};

const NAME = { name: CONFIGURATION_NAME };

/** The webhook configurations in the cluster. */
export class Registration {
  readonly #options: RegistrationOptions;

  constructor(options: RegistrationOptions) {
    this.#options = options;
  }

  /** Writes what differs, and returns what it may not write. */
  async update(bundle: string, signal: AbortSignal): Promise<string[]> {
    const caBundle = Buffer.from(bundle).toString('base64');
    const problems: string[] = [];
    const { client, rules, endpoint } = this.#options;
    const conditions = await client.discovery.serves(POLICIES);
    const file = conditions ? 'deploy/base/webhooks.yaml' : 'deploy/webhooks-before-1.30.yaml';
    for (const expected of configurations(rules, endpoint, { conditions }))
      problems.push(...(await this.#one(expected, { caBundle, file }, signal)));
    return problems;
  }

  async #one(
    expected: Expected,
    { caBundle, file }: { caBundle: string; file: string },
    signal: AbortSignal,
  ): Promise<string[]> {
    const { client, installs, fieldManager } = this.#options;
    const { resource, object } = expected;
    const what = `${object.kind} ${CONFIGURATION_NAME}`;
    const live = await read(client, resource, signal);
    if (installs && (live === undefined || differencesOf(live, object).length > 0)) {
      const webhooks = object.webhooks.map((webhook) => trusting(webhook, caBundle));
      const options = { fieldManager, force: true, signal };
      await orAborted(client.patch(resource, NAME, 'apply', { ...object, webhooks }, options), signal);
      return [];
    }
    if (live === undefined) return [`${what} does not exist: apply ${file}`];
    const differences = differencesOf(live, object).map(
      (difference) => `${what}: ${difference}: apply ${file} of this version`,
    );
    const patch = patchFor(live, object, caBundle);
    if (patch.length === 0) return differences;
    try {
      await orAborted(client.patch(resource, NAME, 'json', patch, { fieldManager, signal }), signal);
    } catch (error) {
      if (isConflict(error)) return this.#one(expected, { caBundle, file }, signal); // Changed since it was read.
      if (!isForbidden(error)) throw error;
      const why = `the CA bundle or the conditions are not current: run tidegate install, or apply ${file} as its first lines describe`;
      return [...differences, `${what}: ${why} (${(error as Error).message})`];
    }
    return differences;
  }
}

/** The CA bundle that API servers use now. Empty if there is none. */
export async function deployedBundle(client: KubeClient, signal: AbortSignal): Promise<string> {
  for (const kind of ['Validating', 'Mutating'] as const) {
    const [first] = (await read(client, configurationsOf(kind), signal))?.webhooks ?? [];
    if (first !== undefined) return Buffer.from(first.clientConfig.caBundle ?? '', 'base64').toString();
  }
  return '';
}

async function read(
  client: KubeClient,
  resource: Expected['resource'],
  signal: AbortSignal,
): Promise<WebhookConfiguration | undefined> {
  try {
    return await orAborted(client.get(resource, NAME, { signal }), signal);
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}

const trusting = (webhook: Webhook, caBundle: string): Webhook => ({
  ...webhook,
  clientConfig: { ...webhook.clientConfig, caBundle },
});

/** What the administrator decides, and the API server fills in. */
const DECIDED_ELSEWHERE = ['matchConditions', 'namespaceSelector', 'objectSelector', 'reinvocationPolicy'];

/** Differences in fields that the manager does not write. */
function differencesOf(live: WebhookConfiguration, { webhooks }: Expected['object']): string[] {
  const inCluster = live.webhooks ?? [];
  const missing = webhooks.filter(({ name }) => !inCluster.some((each) => each.name === name));
  const unknown = inCluster.filter(({ name }) => !webhooks.some((each) => each.name === name));
  const changed = webhooks.flatMap((webhook) => {
    const found = inCluster.find(({ name }) => name === webhook.name);
    if (found === undefined) return [];
    const [wanted, is] = [fixedFieldsOf(webhook), fixedFieldsOf(found)];
    return Object.keys({ ...wanted, ...is })
      .filter((field) => !isDeepStrictEqual(wanted[field], is[field]))
      .map((field) => `webhook ${webhook.name} has another ${field} than this version expects`);
  });
  return [
    ...missing.map(({ name }) => `webhook ${name} is missing`),
    ...unknown.map(({ name }) => `webhook ${name} is not a webhook of this version`),
    ...changed,
  ];
}

function fixedFieldsOf({ clientConfig, ...webhook }: Webhook): Record<string, unknown> {
  const { caBundle: _, ...address } = clientConfig;
  const fields = Object.entries(webhook).filter(([field]) => !DECIDED_ELSEWHERE.includes(field));
  return { ...Object.fromEntries(fields), clientConfig: address };
}

interface PatchOperation {
  op: 'add' | 'replace';
  path: string;
  value: unknown;
}

/**
 * JSON Patch for the two fields that the manager writes. With the version in it, the API server refuses it
 * with a conflict if the object has changed, because then the indexes may be wrong.
 */
function patchFor(
  { metadata, webhooks: inCluster = [] }: WebhookConfiguration,
  { webhooks }: Expected['object'],
  caBundle: string,
): PatchOperation[] {
  const changes = inCluster.flatMap(({ name, clientConfig, matchConditions = [] }, index) => {
    const wanted = webhooks.find((webhook) => webhook.name === name);
    if (wanted === undefined) return [];
    const path = `/webhooks/${index}`;
    const conditions: readonly MatchCondition[] = wanted.matchConditions ?? [];
    return [
      ...(clientConfig.caBundle === caBundle ? [] : [add(`${path}/clientConfig/caBundle`, caBundle)]),
      ...(isDeepStrictEqual(matchConditions, conditions) ? [] : [add(`${path}/matchConditions`, conditions)]),
    ];
  });
  if (changes.length === 0) return [];
  return [{ op: 'replace', path: '/metadata/resourceVersion', value: metadata.resourceVersion }, ...changes];
}

const add = (path: string, value: unknown): PatchOperation => ({ op: 'add', path, value });
