import { type Cluster, startCluster } from '@tidegate/envtest';
import type { KubeObject, Resource } from '@tidegate/kube';
import { afterAll, beforeAll, expect, test } from 'vitest';

interface Lighthouse extends KubeObject {
  spec: { range: number };
}

const LIGHTHOUSES: Resource<Lighthouse> = {
  group: 'example.com',
  version: 'v1',
  resource: 'lighthouses',
  namespaced: true,
};

const DEFINITION = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: lighthouses.example.com
spec:
  group: example.com
  scope: Namespaced
  names: { plural: lighthouses, kind: Lighthouse }
  versions:
    - name: v1
      served: true
      storage: true
      schema:
        openAPIV3Schema:
          type: object
          properties:
            spec:
              type: object
              properties:
                range: { type: integer, minimum: 1, default: 20 }
`;

let cluster: Cluster;

beforeAll(async () => {
  cluster = await startCluster();
  await cluster.apply(DEFINITION);
});

afterAll(async () => {
  await cluster?.stop();
});

const lighthouse = (name: string, spec: object): KubeObject => ({
  apiVersion: 'example.com/v1',
  kind: 'Lighthouse',
  metadata: { name, namespace: 'default' },
  spec,
});

test('watches a custom resource from creation to deletion', async () => {
  const { client } = cluster;
  const events = await client.watch(LIGHTHOUSES, { namespace: 'default', timeoutSeconds: 30 });

  await client.create(LIGHTHOUSES, lighthouse('skagen', {}));
  await cluster.apply([lighthouse('skagen', { range: 24 })]);
  await client.delete(LIGHTHOUSES, { namespace: 'default', name: 'skagen' });

  const seen: [type: string, range: number][] = [];
  for await (const event of events) {
    if (event.type !== 'ADDED' && event.type !== 'MODIFIED' && event.type !== 'DELETED') continue;
    seen.push([event.type, event.object.spec.range]);
    if (event.type === 'DELETED') break;
  }
  expect(seen).toEqual([
    ['ADDED', 20],
    ['MODIFIED', 24],
    ['DELETED', 24],
  ]);
});

test('rejects an object that the schema does not allow', async () => {
  await expect(cluster.client.create(LIGHTHOUSES, lighthouse('dark', { range: 0 }))).rejects.toThrow(
    'spec.range: Invalid value: 0: spec.range in body should be greater than or equal to 1',
  );
});
