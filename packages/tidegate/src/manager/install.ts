/** Creates the objects that the manager requires in the cluster: its namespaces and the CRDs. */

import { setMaxListeners } from 'node:events';
import {
  Applier,
  type Clock,
  isAlreadyExists,
  isNotFound,
  isUnknownField,
  type KubeClient,
  type KubeObject,
  NAMESPACES,
  type Resource,
  sleep,
  withoutField,
} from '@tidegate/kube';
import { customResourceDefinitions } from '../api/index.ts';
import { MANAGER, OWN_NAMESPACES } from './names.ts';

const DEFINITIONS: Resource = {
  group: 'apiextensions.k8s.io',
  version: 'v1',
  resource: 'customresourcedefinitions',
  namespaced: false,
};

const POLL_INTERVAL_MS = 50;

/** Reads each namespace first, because the manager may not have permission to create one. */
export async function ensureNamespaces(client: KubeClient, signal: AbortSignal): Promise<void> {
  for (const name of OWN_NAMESPACES) {
    try {
      await client.get(NAMESPACES, { name }, { signal });
    } catch (error) {
      if (!isNotFound(error)) throw error;
      const namespace = { apiVersion: 'v1', kind: 'Namespace', metadata: { name } };
      await client.create(NAMESPACES, namespace, { signal }).catch((error: unknown) => {
        if (!isAlreadyExists(error)) throw error;
      });
    }
  }
}

/** Installs or updates the CRDs. Resolves when all of them are established. */
export async function installDefinitions(
  client: KubeClient,
  clock: Clock,
  signal: AbortSignal,
): Promise<void> {
  const applier = new Applier(client, MANAGER);
  // Every request adds a listener, which would exceed the default limit.
  setMaxListeners(0, signal);
  const options = { resource: DEFINITIONS, signal };
  const applied = await Promise.all(
    customResourceDefinitions().map((definition) =>
      applier.apply<KubeObject>(definition, options).catch((error: unknown) => {
        if (!isUnknownField(error, VALIDATIONS)) throw error;
        return applier.apply<KubeObject>(withoutField(definition, VALIDATIONS), options);
      }),
    ),
  );
  // One after the other: while the first one is read again and again, the API server establishes the others too. Definitions
  // are large, and to read all of them at each interval keeps a small API server from its work.
  for (const definition of applied) {
    const { name = '' } = definition.metadata;
    let current = definition;
    while (!isEstablished(current)) {
      await sleep(clock, POLL_INTERVAL_MS, signal);
      current = await client.get(DEFINITIONS, { name }, { signal });
    }
  }
}

/** API servers before Kubernetes 1.25 do not have them. The webhook applies the same rules. */
const VALIDATIONS = 'x-kubernetes-validations';

function isEstablished({ status }: KubeObject): boolean {
  const { conditions } = (status ?? {}) as { conditions?: { type: string; status: string }[] | null };
  return (conditions ?? []).some(({ type, status }) => type === 'Established' && status === 'True');
}
