import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  DEPLOYMENTS,
  KubeClient,
  type KubeObject,
  loadConfig,
  NODES,
  PODS,
  type Pod,
  SERVICES,
} from '@tidegate/kube';
import { residentMiB, startTidegate, stop } from '../apiserver/servers.ts';
import { hammer, printFigures } from '../report.ts';

const HOLLOW_NODES = 100;
const DEPLOYMENT_COUNT = 10;
const PODS_EACH = 100;
const POD_COUNT = DEPLOYMENT_COUNT * PODS_EACH;
const PROGRAM = new URL('../../bin/tidegate', import.meta.url).pathname;

/** 100 hollow nodes and 1,000 pods: the time until all are ready, and the memory of the three processes. */
export async function benchLocal(): Promise<void> {
  const directory = await mkdtemp(join(tmpdir(), 'tidegate-bench-'));
  const children: ChildProcess[] = [];
  try {
    const server = await startTidegate(directory);
    const config = await loadConfig({ env: process.env, path: server.kubeconfig });
    const client = new KubeClient(config);
    const start = (...args: string[]): ChildProcess => {
      const child = spawn(PROGRAM, [...args, '--kubeconfig', server.kubeconfig], {
        stdio: ['ignore', 'ignore', 'inherit'],
      });
      children.push(child);
      return child;
    };
    try {
      const reference = await writesAlone(client);
      const controllers = start('controllers', '--cluster-cidr', '127.100.0.0/16');
      const started = performance.now();
      const nodes = start(
        'node',
        '--node-name',
        'hollow',
        '--hollow',
        '--count',
        `${HOLLOW_NODES}`,
        '--state',
        directory,
      );
      await until(client, NODES, HOLLOW_NODES);
      const nodesReady = performance.now() - started;
      const applied = performance.now();
      for (let i = 0; i < DEPLOYMENT_COUNT; i++) {
        await client.create(DEPLOYMENTS, deployment(`web-${i}`));
        await client.create(SERVICES, service(`web-${i}`));
      }
      await until(client, PODS, POD_COUNT);
      const podsReady = performance.now() - applied;
      printFigures(
        `Embedded cluster: ${HOLLOW_NODES} hollow nodes, ${POD_COUNT} pods in ${DEPLOYMENT_COUNT} Deployments`,
        [
          { what: 'all nodes ready', value: seconds(nodesReady) },
          {
            what: 'all pods ready',
            value: seconds(podsReady),
            reference: `only create, bind and status: ${seconds(reference)}`,
            ratio: (podsReady / reference).toFixed(2),
          },
          { what: 'memory, API server', value: `${residentMiB(server.pid)} MiB` },
          { what: 'memory, controllers', value: `${residentMiB(controllers.pid ?? 0)} MiB` },
          {
            what: `memory, ${HOLLOW_NODES} nodes in one process`,
            value: `${residentMiB(nodes.pid ?? 0)} MiB`,
          },
        ],
      );
    } finally {
      for (const child of children.toReversed()) await stop(child);
      await client.close();
      await server.stop();
    }
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

const seconds = (ms: number): string => `${(ms / 1000).toFixed(1)} s`;

const template = (app: string) => ({
  metadata: { labels: { app } },
  spec: { containers: [{ name: 'web', image: 'nginx:1.27', ports: [{ containerPort: 8080 }] }] },
});

const deployment = (app: string): KubeObject => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: app, namespace: 'default' },
  spec: { replicas: PODS_EACH, selector: { matchLabels: { app } }, template: template(app) },
});

const service = (app: string): KubeObject => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name: app, namespace: 'default' },
  spec: { selector: { app }, ports: [{ port: 80, targetPort: 8080 }] },
});

/** The reference: the same number of pods, each created, bound and reported as ready, without any controller. */
async function writesAlone(client: KubeClient): Promise<number> {
  const namespace = 'kube-public';
  const took = await hammer(POD_COUNT, 16, async (i) => {
    const name = `pod-${i}`;
    await client.create(PODS, {
      apiVersion: 'v1',
      kind: 'Pod',
      ...template('reference'),
      metadata: { name, namespace },
    });
    await client.create(
      PODS,
      {
        apiVersion: 'v1',
        kind: 'Binding',
        metadata: { name, namespace },
        target: { kind: 'Node', name: 'elsewhere' },
      },
      { subresource: 'binding' },
    );
    await client.patch(PODS, { name, namespace, subresource: 'status' }, 'merge', {
      status: { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] },
    });
  });
  await client.deleteCollection(PODS, { namespace, gracePeriodSeconds: 0 });
  return took;
}

interface WithConditions extends KubeObject {
  status?: { conditions?: { type: string; status: string }[] };
}

/** Watches until the given number of objects is ready. */
async function until(client: KubeClient, resource: typeof PODS | typeof NODES, count: number): Promise<void> {
  const ready = new Set<string>();
  const namespace = resource.namespaced ? 'default' : undefined;
  const enough = new AbortController();
  const events = await client.watch<Pod>(resource as typeof PODS, { namespace, signal: enough.signal });
  for await (const { type, object } of events) {
    const name = object.metadata.name ?? '';
    const conditions = (object as WithConditions).status?.conditions ?? [];
    if (type !== 'DELETED' && conditions.some((c) => c.type === 'Ready' && c.status === 'True'))
      ready.add(name);
    else ready.delete(name);
    if (ready.size >= count) break;
  }
  enough.abort();
}
