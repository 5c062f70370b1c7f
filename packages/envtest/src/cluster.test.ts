import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { CONFIG_MAPS, DEPLOYMENTS, isForbidden, type KubeObject } from '@tidegate/kube';
import { describe, expect, it, onTestFinished } from 'vitest';
import { type Cluster, type ClusterOptions, startCluster } from './cluster.ts';

const start = async (options?: ClusterOptions): Promise<Cluster> => {
  const cluster = await startCluster(options);
  onTestFinished(() => cluster.stop());
  return cluster;
};

const settings = (data: Record<string, string>): KubeObject => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name: 'settings', namespace: 'default' },
  data,
});

describe('startCluster', () => {
  it('deletes its temporary directory on stop, and can be stopped twice', async () => {
    const cluster = await startCluster();
    expect(existsSync(cluster.kubeconfig)).toBe(true);
    await cluster.stop();
    expect(existsSync(dirname(cluster.kubeconfig))).toBe(false);
    await cluster.stop();
  });

  it('keeps a directory that the caller passes', async () => {
    const directory = mkdtempSync(join(tmpdir(), 'envtest-'));
    onTestFinished(() => rmSync(directory, { recursive: true }));
    const first = await start({ directory });
    await first.apply([settings({ color: 'blue' })]);
    await first.stop();
    const second = await start({ directory });
    const target = { namespace: 'default', name: 'settings' };
    expect(await second.client.get(CONFIG_MAPS, target)).toMatchObject({ data: { color: 'blue' } });
  });

  it('gives impersonating clients only the rights of their user', async () => {
    const cluster = await start();
    const alice = cluster.clientAs({ user: 'alice' });
    await expect(alice.list(CONFIG_MAPS)).rejects.toSatisfy(isForbidden);
  });

  it('runs a Deployment on hollow nodes', async () => {
    const cluster = await start({ controllers: true, hollowNodes: 2 });
    const labels = { app: 'web' };
    await cluster.apply([
      {
        apiVersion: 'apps/v1',
        kind: 'Deployment',
        metadata: { name: 'web', namespace: 'default' },
        spec: {
          replicas: 2,
          selector: { matchLabels: labels },
          template: { metadata: { labels }, spec: { containers: [{ name: 'web', image: 'web' }] } },
        },
      },
    ]);
    const target = { namespace: 'default', name: 'web' };
    await expect
      .poll(async () => (await cluster.client.get(DEPLOYMENTS, target)).status?.availableReplicas)
      .toBe(2);
  });
});

describe('apply', () => {
  it('applies the documents of a YAML text in order and skips empty ones', async () => {
    const cluster = await start();
    const applied = await cluster.apply(`
apiVersion: v1
kind: Namespace
metadata: { name: shop }
---
---
apiVersion: v1
kind: ConfigMap
metadata: { name: settings, namespace: shop }
`);
    expect(applied.map(({ kind }) => kind)).toEqual(['Namespace', 'ConfigMap']);
  });

  it('applies a definition and an object of its kind in one text', async () => {
    const cluster = await start();
    const [, gadget] = await cluster.apply(`
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: { name: gadgets.example.com }
spec:
  group: example.com
  scope: Cluster
  names: { plural: gadgets, kind: Gadget }
  versions:
    - { name: v1, served: true, storage: true, schema: { openAPIV3Schema: { type: object } } }
---
apiVersion: example.com/v1
kind: Gadget
metadata: { name: first }
`);
    expect(gadget?.metadata.uid).toBeDefined();
  });

  it('names the document that is not an object', async () => {
    const cluster = await start();
    await expect(cluster.apply('kind: ConfigMap')).rejects.toThrow(
      'document 1 has no apiVersion, kind or metadata.name',
    );
    await expect(cluster.apply('--- {')).rejects.toThrow('document 1 is not valid YAML');
  });
});
