import {
  Applier,
  type KubeClient,
  type KubeObject,
  parseApiVersion,
  type Resource,
  sleep,
  systemClock,
} from '@tidegate/kube';
import { parseAllDocuments } from 'yaml';

const FIELD_MANAGER = 'envtest';
const GROUP = 'apiextensions.k8s.io';
const DEFINITIONS: Resource = {
  group: GROUP,
  version: 'v1',
  resource: 'customresourcedefinitions',
  namespaced: false,
};
const POLL_MS = 20;
const ESTABLISH_TIMEOUT_MS = 10_000;

/** Applies the objects one after the other; see `Cluster.apply`. */
export async function applyManifests(
  client: KubeClient,
  manifests: string | readonly KubeObject[],
): Promise<KubeObject[]> {
  const applier = new Applier(client, FIELD_MANAGER);
  const applied: KubeObject[] = [];
  for (const object of typeof manifests === 'string' ? readManifests(manifests) : manifests) {
    const stored = await applier.apply(object);
    applied.push(isDefinition(stored) ? await established(client, stored) : stored);
  }
  return applied;
}

/** The documents of a YAML text; empty documents are skipped, as kubectl does. */
function readManifests(text: string): KubeObject[] {
  return parseAllDocuments(text).flatMap((document, index) => {
    const [error] = document.errors;
    if (error !== undefined) throw new Error(`document ${index + 1} is not valid YAML: ${error.message}`);
    const value: unknown = document.toJS();
    if (value === null) return [];
    if (!isObject(value)) throw new Error(`document ${index + 1} has no apiVersion, kind or metadata.name`);
    return [value];
  });
}

function isObject(value: unknown): value is KubeObject {
  const { apiVersion, kind, metadata } = (value ?? {}) as Partial<KubeObject>;
  return typeof apiVersion === 'string' && typeof kind === 'string' && typeof metadata?.name === 'string';
}

const isDefinition = ({ apiVersion, kind }: KubeObject): boolean =>
  parseApiVersion(apiVersion).group === GROUP && kind === 'CustomResourceDefinition';

/** The API server serves objects of the kind once the definition's condition Established is True. */
async function established(client: KubeClient, definition: KubeObject): Promise<KubeObject> {
  const { name = '' } = definition.metadata;
  const timeout = AbortSignal.timeout(ESTABLISH_TIMEOUT_MS);
  let current = definition;
  while (!isEstablished(current)) {
    if (timeout.aborted) {
      const seen = JSON.stringify(conditionsOf(current));
      throw new Error(`CustomResourceDefinition ${name} is not established; its conditions are ${seen}`);
    }
    await sleep(systemClock, POLL_MS);
    current = await client.get(DEFINITIONS, { name });
  }
  return current;
}

function conditionsOf({ status }: KubeObject): { type: string; status: string }[] {
  const { conditions } = (status ?? {}) as { conditions?: { type: string; status: string }[] | null };
  return conditions ?? [];
}

const isEstablished = (definition: KubeObject): boolean =>
  conditionsOf(definition).some(({ type, status }) => type === 'Established' && status === 'True');
