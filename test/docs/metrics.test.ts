/** docs/reference/metrics.md lists what running programs export. `UPDATE_DOCS=1` writes the tables. */
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { KubeClient, type KubeList, loadConfig, type Pod } from '@tidegate/kube';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startManager } from '../manager/support.ts';
import { Cluster } from '../support/cluster.ts';
import { startEmbedded } from '../support/embedded.ts';
import { type Metric, parseMetrics, tableOf, withTable } from './metrics-page.ts';

const PAGE = join(import.meta.dirname, '../../docs/reference/metrics.md');

async function scrape(url: string): Promise<Metric[]> {
  const response = await fetch(url);
  expect(response.status).toBe(200);
  return parseMetrics(await response.text());
}

async function check(program: string, metrics: Metric[]): Promise<void> {
  expect(metrics.length).toBeGreaterThan(5);
  for (const { name } of metrics) expect(name).toMatch(/^tidegate_/);
  const page = await readFile(PAGE, 'utf8');
  if (process.env.UPDATE_DOCS === '1') return writeFile(PAGE, withTable(page, program, metrics));
  const shown = tableOf(page, program);
  const facts = ({ name, type, help }: Metric): string[] => [name, type, help];
  expect(shown.map(facts)).toEqual(metrics.map(facts));
  for (const { name, labels } of metrics)
    expect(shown.find((each) => each.name === name)?.labels).toEqual(expect.arrayContaining([...labels]));
}

describe('metrics of a running cluster', () => {
  let cluster: Cluster;
  beforeAll(async () => {
    cluster = await Cluster.start();
  }, 120_000);
  afterAll(async () => cluster?.stop(), 60_000);

  async function routerPod(): Promise<Pod> {
    const { items } = await cluster.kubectl.json<KubeList<Pod>>('-n ingress-nginx get pods');
    return items[0]!;
  }

  test('the page lists the metrics of the hub', async () => {
    const { status } = await routerPod();
    await check('hub', await scrape(`http://${status?.hostIP}:10267/metrics`));
  });

  test('the page lists the metrics of the router', async () => {
    const { status } = await routerPod();
    await check('router', await scrape(`http://${status?.podIP}:10254/metrics`));
  });
});

test('the page lists the metrics of the manager', async () => {
  const server = await startEmbedded();
  const client = new KubeClient(await loadConfig({ path: server.kubeconfig, env: {} }));
  try {
    const manager = await startManager(client, { leaderElection: true });
    try {
      await check('manager', await scrape(`http://127.0.0.1:${manager.healthPort}/metrics`));
    } finally {
      await manager.stop();
    }
  } finally {
    await client.close();
    await server.stop();
  }
});
