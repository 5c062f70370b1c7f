/** docs/reference/metrics.md lists what running programs export. `UPDATE_DOCS=1` writes the tables. */
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { KubeClient, loadConfig } from '@tidegate/kube';
import { expect, test } from 'vitest';
import { startManager } from '../manager/support.ts';
import { Edge } from '../support/edge.ts';
import { startEmbedded, startEmbeddedWithKinds } from '../support/embedded.ts';
import { Tidegate } from '../support/tidegate.ts';
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

test('the page lists the metrics of the hub', async () => {
  const edge = await Edge.start();
  try {
    await check('hub', await scrape(`http://127.0.0.1:${edge.ports.admin}/metrics`));
  } finally {
    await edge.stop();
  }
});

test('the page lists the metrics of the router', async () => {
  const server = await startEmbeddedWithKinds();
  const state = await mkdtemp(join(tmpdir(), 'tidegate-router-'));
  const ports = ['--http-port', '0', '--https-port', '0', '--admin-port', '0', '--bind-address', '127.0.0.1'];
  const router = new Tidegate([
    ...['router', '--kubeconfig', server.kubeconfig, '--state', state, '--class', 'any'],
    ...['--data-plane', 'nginx', '--shutdown-delay', '1ms', ...ports],
  ]);
  try {
    const printed = /; admin at (http:.*)\.$/m;
    await router.until(({ stdout }) => printed.test(stdout));
    const admin = printed.exec(router.stdout)?.[1];
    await expect.poll(async () => (await fetch(`${admin}/readyz`)).status).toBe(200);
    await check('router', await scrape(`${admin}/metrics`));
  } finally {
    await router.kill('SIGTERM');
    await server.stop();
    await rm(state, { recursive: true, force: true });
  }
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
