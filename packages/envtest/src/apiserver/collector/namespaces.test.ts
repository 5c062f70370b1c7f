import type { KubeObject } from '@tidegate/kube';
import { beforeEach, expect, it } from 'vitest';
import { ensureObject } from '../bootstrap.ts';
import { deleteObject } from '../operations/delete.ts';
import { editIfPresent } from '../operations/if-present.ts';
import { configmaps } from '../resources/config/configmap.ts';
import { namespaces } from '../resources/core/namespace.ts';
import { define } from '../resources/define.ts';
import { decodeStored } from '../served/codec.ts';
import { NamespaceCollector } from './namespaces.ts';
import { OPTIONS, openCollecting, type TestCollector } from './testing.ts';

let collecting: TestCollector;
beforeEach(async () => {
  collecting = await openCollecting(
    [namespaces, configmaps, define({ kind: 'Pod', plural: 'pods' })],
    (core, enqueue) => new NamespaceCollector(core, OPTIONS, enqueue),
  );
  return () => collecting.close();
});

const create = (object: Partial<KubeObject>): Promise<void> =>
  ensureObject(collecting.core, OPTIONS, { apiVersion: 'v1', ...object } as KubeObject);

const target = (resource: string, name: string, namespace = '') => {
  const served = collecting.core.registry.byStorage(resource);
  if (served === undefined) throw new Error(`${resource} are not served`);
  return { served, namespace, name };
};

const find = (resource: string, name: string, namespace = ''): KubeObject | undefined => {
  const entry = collecting.core.store.get({ resource, namespace, name });
  return entry === undefined ? undefined : decodeStored(entry);
};

it('deletes the pods of a namespace first, and everything else once they are gone', async () => {
  await create({ kind: 'Namespace', metadata: { name: 'shop' } });
  await create({ kind: 'ConfigMap', metadata: { name: 'settings', namespace: 'shop' } });
  const metadata = { name: 'web', namespace: 'shop', finalizers: ['example.com/hold'] };
  await create({ kind: 'Pod', metadata, spec: { containers: [] } });
  await deleteObject(collecting.core, { ...target('namespaces', 'shop'), options: OPTIONS, delete: {} });
  await collecting.settle();

  expect(find('pods', 'web', 'shop')?.metadata.deletionTimestamp).toBeDefined();
  expect(find('configmaps', 'settings', 'shop')).toBeDefined();
  expect(find('namespaces', 'shop')?.status).toMatchObject({
    phase: 'Terminating',
    conditions: expect.arrayContaining([
      expect.objectContaining({
        type: 'NamespaceContentRemaining',
        status: 'True',
        message:
          'Some resources are remaining: configmaps. has 1 resource instances, pods. has 1 resource instances',
      }),
    ]),
  });

  await editIfPresent(collecting.core, target('pods', 'web', 'shop'), OPTIONS, (pod) => {
    delete pod.metadata.finalizers;
  });
  await collecting.settle();
  expect(find('configmaps', 'settings', 'shop')).toBeUndefined();
  expect(find('namespaces', 'shop')).toBeUndefined();
});
