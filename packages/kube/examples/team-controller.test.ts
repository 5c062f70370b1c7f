import { type Cluster, startCluster } from '@tidegate/envtest';
import { CONFIG_MAPS, type KubeObject, NAMESPACES } from '@tidegate/kube';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { runTeamController } from './team-controller.ts';

let cluster: Cluster;
const stopping = new AbortController();
let running: Promise<void>;

beforeAll(async () => {
  cluster = await startCluster();
  running = runTeamController(cluster.client, stopping.signal);
});

afterAll(async () => {
  stopping.abort();
  await running;
  await cluster?.stop();
});

const namespace = (name: string, labels: Record<string, string>): KubeObject => ({
  apiVersion: 'v1',
  kind: 'Namespace',
  metadata: { name, labels },
});

/** The data of the ConfigMap `team` in each namespace that has one. */
const teams = async (): Promise<Record<string, unknown>> => {
  const { items } = await cluster.client.list(CONFIG_MAPS, { fieldSelector: 'metadata.name=team' });
  return Object.fromEntries(items.map(({ metadata, data }) => [metadata.namespace, data]));
};

test('keeps a ConfigMap in every namespace with a team', async () => {
  const { client } = cluster;
  await cluster.apply([namespace('shop', { 'example.com/team': 'harbor' }), namespace('empty', {})]);
  await expect.poll(teams).toEqual({ shop: { team: 'harbor' } });

  // A change by another client is reverted.
  const target = { namespace: 'shop', name: 'team' };
  await client.patch(CONFIG_MAPS, target, 'merge', { data: { team: 'other' } });
  await expect.poll(teams).toEqual({ shop: { team: 'harbor' } });

  await client.patch(NAMESPACES, { name: 'shop' }, 'merge', {
    metadata: { labels: { 'example.com/team': null } },
  });
  await expect.poll(teams).toEqual({});
});
