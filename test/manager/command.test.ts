/** Runs `tidegate manager` as a user does. */
import { createServer, type Server } from 'node:net';
import { KubeClient, loadConfig, NAMESPACES } from '@tidegate/kube';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Embedded, startEmbedded } from '../support/embedded.ts';
import { Kubectl } from '../support/kubectl.ts';
import { eventually } from '../support/patience.ts';
import { Tidegate } from '../support/tidegate.ts';
import { startManager } from './support.ts';

let server: Embedded;
let taken: Server;
let port: number;
beforeAll(async () => {
  server = await startEmbedded();
  taken = createServer();
  await new Promise<void>((resolve) => taken.listen(0, '127.0.0.1', resolve));
  ({ port } = taken.address() as { port: number });
});
afterAll(async () => {
  taken.close();
  await server.stop();
});

const manager = (...args: string[]): Tidegate =>
  new Tidegate(['manager', '--kubeconfig', server.kubeconfig, ...args]);

it('waits for the CRDs if it must not install them, and shuts down cleanly', async () => {
  const waiting = manager('--webhook-port', '0', '--admin-port', '0');
  const client = new KubeClient(await loadConfig({ path: server.kubeconfig, env: {} }));
  await eventually(() => client.get(NAMESPACES, { name: 'tidegate-system' }).catch(() => undefined));
  // A second manager installs them.
  const installing = await startManager(client);
  await eventually(async () => waiting.stderr.includes('became leader'));
  const kubectl = new Kubectl(server.kubeconfig);
  expect(await kubectl.run('get nodepools')).toBe('No resources found\n');
  await waiting.kill('SIGTERM');
  expect(await waiting.exited, waiting.stderr).toEqual({ code: 0, signal: null });
  await installing.stop();
  await client.close();
});

it.each([
  [() => ['--webhook-port', String(port), '--admin-port', '0', '--install-crds'], '--webhook-port'],
  [() => ['--webhook-port', '0', '--admin-port', String(port)], '--admin-port'],
])('reports a port that is in use', async (args, option) => {
  const { exited, ...run } = await ended(manager('--log-level', 'error', ...args()));
  expect(exited.code).toBe(1);
  expect(run.stderr).toBe(
    `tidegate: port ${port} is already in use; choose another with ${option} (0 selects a free port)\n`,
  );
});

it.each([
  [['--webhook-url', 'http://x'], 'Use a URL that starts with https://'],
  [['--webhook-service', 'x'], 'Use a namespace and a name'],
  [['--leader-elect', 'maybe'], 'Use true or false'],
  [['--webhook-url', 'https://x', '--webhook-service', 'a/b'], 'cannot be used with option'],
])('refuses %j', async (args, message) => {
  const { exited, stderr } = await ended(manager(...args));
  expect(exited.code).toBe(1);
  expect(stderr).toContain(message);
});

async function ended(run: Tidegate): Promise<{ exited: { code: number | null }; stderr: string }> {
  return { exited: await run.exited, stderr: run.stderr };
}
