import { setTimeout as sleep } from 'node:timers/promises';
import { customResourceDefinitions } from '../../src/api/index.ts';
import type { KubeClient, KubeObject, Resource } from '../../src/kube/index.ts';

const DEFINITIONS: Resource = {
  group: 'apiextensions.k8s.io',
  version: 'v1',
  resource: 'customresourcedefinitions',
  namespaced: false,
};

/** Looks again until `look` gives something, for as long as the test may take. */
export async function eventually<T>(look: () => Promise<T | undefined> | T | undefined): Promise<T> {
  for (;;) {
    const found = await look();
    if (found !== undefined && found !== false) return found;
    await sleep(10);
  }
}

/** Resolves when all of our kinds can be written. */
export async function installDefinitions(client: KubeClient): Promise<void> {
  for (const definition of customResourceDefinitions()) {
    const { name = '' } = definition.metadata;
    await client.create(DEFINITIONS, definition);
    await eventually(async () => isEstablished(await client.get(DEFINITIONS, { name })) || undefined);
  }
}

function isEstablished({ status }: KubeObject): boolean {
  const { conditions = [] } = (status ?? {}) as { conditions?: { type: string; status: string }[] | null };
  return (conditions ?? []).some(({ type, status }) => type === 'Established' && status === 'True');
}
