/** After `tidegate down`, no process is left, whatever happened before. */
import { readdir } from 'node:fs/promises';
import { startTicksOf } from '@tidegate/envtest/node';
import type { Pod } from '@tidegate/kube';
import { afterEach, expect, it } from 'vitest';
import { Cluster } from '../support/cluster.ts';

let cluster: Cluster;
afterEach(() => cluster.stop());

it('stops pods whose node and supervisor were killed, and removes everything', async () => {
  cluster = await Cluster.start('--nodes', '1');
  await cluster.kubectl.run('create deployment web --image=web --replicas=2');
  await cluster.kubectl.run('rollout status deployment web');
  const pods = JSON.parse(await cluster.kubectl.run('get pods -o json')) as { items: Pod[] };
  const processes = await Promise.all(pods.items.map((pod) => cluster.processOf(pod)));
  const node = await cluster.pidOf('node-1');
  // The node first: without its supervisor it would stop gracefully.
  process.kill(node, 'SIGKILL');
  await cluster.up.kill('SIGKILL');
  const running = (): number[] => processes.filter((pid) => startTicksOf(pid) !== undefined);
  expect(running()).toHaveLength(2);

  expect(await cluster.tidegate('down', '--wipe')).toContain(
    'stopping 2 pod processes that outlived their node agents\nNo cluster is running',
  );
  expect(running()).toEqual([]);
  await expect(readdir(cluster.state)).rejects.toThrow('ENOENT');
});
