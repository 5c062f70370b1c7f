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
    .poll(() => create(`c-${Date.now()}`).catch((error: Error) => error.message))
    .toContain(`no space left on the file system of ${join(state, 'apiserver/store')}: free some space`);
  expect(await kubectl.run('get configmap before')).toContain('before');
  const warning = `left on the file system of ${state}: writes to the cluster are refused`;
  await expect.poll(() => cluster.up.stdout).toContain(warning);
  // A small write can still fit: then the API server accepts writes, until the next one.
  await expect
    .poll(() => cluster.tidegate('status'))
    .toContain('Warning: the API server refuses writes: no space left on the disk of the store');
  expect(await cluster.tidegate('status')).toContain(warning);

  // A process that ends now starts again from what it has stored.
  const restarted = ['apiserver', 'hub-node-1', 'node-1'];
  for (const part of restarted) process.kill(await cluster.pidOf(part), 'SIGKILL');
  for (const part of restarted)
    await expect.poll(() => cluster.up.stdout).toContain(`${part} is running again`);
  expect(await kubectl.run('get configmap before')).toContain('before');
  // The manager has to write, so it waits for space. The API server gave some back when it started.
  disk.fill();
  process.kill(await cluster.pidOf('manager'), 'SIGKILL');
  await expect.poll(() => cluster.up.stdout).toContain('manager exited');

  disk.free();
  await expect.poll(() => cluster.up.stdout).toContain(`the file system of ${state} has space again`);
  await expect.poll(() => create('after').catch((error: Error) => error.message)).toContain('created');
  expect(await kubectl.run('get configmap before after')).toContain('after');
  expect(await cluster.tidegate('status')).not.toContain('Warning');
  await expect.poll(() => cluster.up.stdout).toContain('manager is running again');
  const exits = cluster.up.stdout.match(/^.* exited: .*$/gm) ?? [];
  expect(exits.map((line) => line.replace(/^.* s {2}|; restarting.*$/g, '')).sort()).toEqual(
    [...restarted, 'manager'].map((part) => `${part} exited: killed by SIGKILL`).sort(),
  );
});

it('does not start on a full disk, and says so in one sentence', async () => {
  const disk = await smallDisk();
  const state = join(disk.directory, 'state');
  disk.fill();
  const up = new Tidegate(['up', '--state', state, '--port', '0', '--empty']);
  const { code } = await up.exited;
  expect({ code, stderr: up.stderr }).toEqual({
    code: 1,
    stderr: `tidegate: no space left on the file system of ${state}, and a new cluster needs 4 MiB to start: free some space, or choose another directory with --state\n`,
  });
  expect(up.stdout).not.toContain('exited');
});
