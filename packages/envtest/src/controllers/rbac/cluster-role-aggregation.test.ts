import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  EventRecorder,
  Informers,
  KubeClient,
  type KubeObject,
  loadConfig,
  Metrics,
  type Resource,
  silentLogger,
  systemClock,
} from '@tidegate/kube';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startApiServer } from '../../apiserver/index.ts';
import { clusterRoleAggregationController } from './cluster-role-aggregation.ts';

const CLUSTER_ROLES: Resource = {
  group: 'rbac.authorization.k8s.io',
  version: 'v1',
  resource: 'clusterroles',
  namespaced: false,
};

const stop = new AbortController();
let client: KubeClient;
let end: () => Promise<void>;
beforeAll(async () => {
  const directory = await mkdtemp(join(tmpdir(), 'tidegate-rbac-'));
  const server = await startApiServer({ directory, port: 0, log: silentLogger, version: 'test' });
  server.writeAdminKubeconfig(join(directory, 'kubeconfig'));
  client = new KubeClient(await loadConfig({ path: join(directory, 'kubeconfig'), env: {} }));
  const informers = new Informers(client);
  const controller = clusterRoleAggregationController({
    client,
    informers,
    recorderFor: (component) => new EventRecorder(client, { component }),
    metrics: new Metrics(),
    log: silentLogger,
    clock: systemClock,
  });
  const running = [informers.run(stop.signal), controller.run(stop.signal)];
  end = async () => {
    stop.abort();
    await Promise.all(running);
    await client.close();
    await server.close();
    await rm(directory, { recursive: true, force: true });
  };
});
afterAll(() => end());

const makeRole = (name: string, more: object, labels: Record<string, string> = {}): Promise<KubeObject> =>
  client.create(CLUSTER_ROLES, {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'ClusterRole',
    metadata: { name, labels },
    ...more,
  });
const rule = (resource: string): object => ({ apiGroups: [''], resources: [resource], verbs: ['get'] });
async function rulesBecome(name: string, expected: object[]): Promise<void> {
  for (let rules: unknown; JSON.stringify(rules) !== JSON.stringify(expected.map(inOrder)); await sleep(10)) {
    rules = ((await client.get(CLUSTER_ROLES, { name })).rules as object[] | null)?.map(inOrder) ?? [];
  }
}
const inOrder = (rule: object): object => Object.fromEntries(Object.entries(rule).toSorted());

it('an aggregated role has the rules of the roles it selects, without duplicates, and follows them', async () => {
  await makeRole('z', { rules: [rule('pods'), rule('nodes')] }, { into: 'all' });
  await makeRole('all', { aggregationRule: { clusterRoleSelectors: [{ matchLabels: { into: 'all' } }] } });
  await rulesBecome('all', [rule('pods'), rule('nodes')]);
  await makeRole('a', { rules: [rule('secrets'), rule('pods')] }, { into: 'all' });
  await makeRole('other', { rules: [rule('services')] });
  await rulesBecome('all', [rule('secrets'), rule('pods'), rule('nodes')]);
  await client.patch(CLUSTER_ROLES, { name: 'a' }, 'merge', { metadata: { labels: { into: null } } });
  await rulesBecome('all', [rule('pods'), rule('nodes')]);
  await client.delete(CLUSTER_ROLES, { name: 'z' });
  await rulesBecome('all', []);
  expect((await client.get(CLUSTER_ROLES, { name: 'a' })).rules).toHaveLength(2);
});
