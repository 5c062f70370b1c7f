/** `tidegate up` with its state directory on a file system that is filled and freed. */
import { join } from 'node:path';
import { smallDisk } from '@tidegate/disk/testing';
import { expect, it, onTestFinished } from 'vitest';
import { Cluster } from '../support/cluster.ts';
import { Tidegate } from '../support/tidegate.ts';

it('shows a full disk in status and on the terminal, and recovers by itself', async () => {
  const disk = await smallDisk(48 << 20);
  const state = join(disk.directory, 'state');
  const cluster = await Cluster.open(state, '--nodes', '1');
  onTestFinished(() => cluster.stop());
  const { kubectl } = cluster;
  const create = (name: string) =>
    kubectl.run(`create configmap ${name} --from-literal=text=${'x'.repeat(64 << 10)}`);
  await create('before');

  disk.fill();
  // The store has some space left in its own file.
  await expect
    .poll(() => create(`c-${Date.now()}`).catch((error: Error) => error.message), { timeout: 60_000 })
    .toContain(`no space left on the file system of ${join(state, 'apiserver/store')}: free some space`);
  expect(await kubectl.run('get configmap before')).toContain('before');
  const warning = `left on the file system of ${state}: writes to the cluster are refused`;
  await expect.poll(() => cluster.up.stdout).toContain(warning);
  const status = await cluster.tidegate('status');
  expect(status).toContain(warning);
  expect(status).toContain('Warning: the API server refuses writes: no space left on the disk of the store');

  // A process that ends now starts again when there is space, and its reason is shown although its log is full.
  process.kill(await cluster.pidOf('apiserver'), 'SIGKILL');
  const reason = `no space left on the file system of ${join(state, 'apiserver/store')}`;
  await expect.poll(() => cluster.up.stdout).toContain(`apiserver exited: ${reason}`);

  disk.free();
  await expect.poll(() => cluster.up.stdout).toContain(`the file system of ${state} has space again`);
  await expect.poll(() => create('after').catch((error: Error) => error.message)).toContain('created');
  expect(await kubectl.run('get configmap before after')).toContain('after');
  expect(await cluster.tidegate('status')).not.toContain('Warning');
  for (const part of ['controllers', 'manager', 'hub-node-1', 'node-1'])
    expect(cluster.up.stdout).not.toContain(`${part} exited`);
});

it('does not start on a full disk, and says so in one sentence', async () => {
  const disk = await smallDisk();
  const state = join(disk.directory, 'state');
  disk.fill();
  const up = new Tidegate(['up', '--state', state, '--port', '0', '--empty']);
  const { code } = await up.exited;
  expect({ code, stderr: up.stderr }).toEqual({
    code: 1,
    stderr: `tidegate: no space left on the file system of ${state}: free some space and try again\n`,
  });
});
