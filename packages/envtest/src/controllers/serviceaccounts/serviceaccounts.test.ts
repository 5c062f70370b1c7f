import { CONFIG_MAPS, isNotFound, NAMESPACES, SERVICE_ACCOUNTS } from '@tidegate/kube';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { TestCluster } from '../workloads/testing/test-cluster.ts';
import { rootCaController, serviceAccountController } from './index.ts';

let cluster: TestCluster;
beforeAll(async () => {
  cluster = await TestCluster.start([serviceAccountController, rootCaController]);
});
afterAll(() => cluster.stop());

const CA = { namespace: 'shop', name: 'kube-root-ca.crt' };
const whenFound = <T>(what: string, look: () => Promise<T>) =>
  cluster.eventually(what, () =>
    look().catch((error) => {
      if (isNotFound(error)) return undefined;
      throw error;
    }),
  );

test('keeps a default ServiceAccount and the CA certificate in every namespace, also after they are deleted', async () => {
  await cluster.client.create(NAMESPACES, {
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: { name: 'shop' },
  });
  const ca = await whenFound('the ConfigMap', () => cluster.client.get(CONFIG_MAPS, CA));
  expect(ca.data).toEqual({ 'ca.crt': cluster.client.config.ca });

  const account = { namespace: 'shop', name: 'default' };
  const first = await whenFound('the account', () => cluster.client.get(SERVICE_ACCOUNTS, account));
  await cluster.client.delete(SERVICE_ACCOUNTS, account);
  await whenFound('another account', async () => {
    const { metadata } = await cluster.client.get(SERVICE_ACCOUNTS, account);
    return metadata.uid !== first.metadata.uid;
  });

  await cluster.client.patch(CONFIG_MAPS, CA, 'merge', { data: { 'ca.crt': 'forged', more: 'x' } });
  await cluster.eventually('the CA certificate again', async () => {
    const { data = {} } = await cluster.client.get(CONFIG_MAPS, CA);
    return data['ca.crt'] === cluster.client.config.ca && Object.keys(data).length === 1;
  });
});

test('adds them to namespaces that existed before', async () => {
  await whenFound('the account', () =>
    cluster.client.get(SERVICE_ACCOUNTS, { namespace: 'kube-system', name: 'default' }),
  );
});

test('does not prevent the deletion of a namespace', async () => {
  await cluster.client.create(NAMESPACES, {
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: { name: 'gone' },
  });
  await whenFound('the ConfigMap', () => cluster.client.get(CONFIG_MAPS, { ...CA, namespace: 'gone' }));
  await cluster.client.delete(NAMESPACES, { name: 'gone' });
  await cluster.eventually('the namespace is gone', () =>
    cluster.client.get(NAMESPACES, { name: 'gone' }).then(() => false, isNotFound),
  );
});
