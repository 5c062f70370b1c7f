import { smallDisk } from '@tidegate/disk/testing';
import { VirtualClock } from '@tidegate/kube/testing';
import { expect, it, onTestFinished } from 'vitest';
import { DiskWatch, requireSpace } from './disk-watch.ts';

it('reports a full disk once, and once that there is space again', async () => {
  const disk = await smallDisk();
  const lines: string[] = [];
  const clock = new VirtualClock();
  const watch = new DiskWatch(disk.directory, (line) => lines.push(line), clock);
  onTestFinished(() => watch.close());
  watch.run();
  expect(await watch.warning()).toBeUndefined();

  disk.fill();
  const linesAfterSomeTime = async () => {
    await clock.advance(5_000);
    return lines;
  };
  await expect.poll(linesAfterSomeTime).toHaveLength(1);
  expect(lines[0]).toContain(
    `left on the file system of ${disk.directory}: writes to the cluster are refused`,
  );
  expect(await watch.warning()).toBe(lines[0]);

  disk.free();
  await expect.poll(linesAfterSomeTime).toHaveLength(2);
  expect(lines[1]).toBe(`the file system of ${disk.directory} has space again`);
  expect(await watch.warning()).toBeUndefined();
});

it('reports a directory that is gone', async () => {
  const watch = new DiskWatch('/nonexistent/state', () => {});
  expect(await watch.warning()).toMatch(/^cannot use the state directory \/nonexistent\/state: ENOENT/);
});

it('refuses to start a cluster without enough space, in one sentence', async () => {
  const space = (free: number, isNew: boolean): Promise<void> =>
    requireSpace('/state', { isNew, nodes: 5 }, async () => free);
  await expect(space(300 << 10, true)).rejects.toThrow(
    'only 300 KiB left on the file system of /state, and a new cluster needs 6.5 MiB to start: free some space, or choose another directory with --state',
  );
  await expect(space(0, false)).rejects.toThrow(
    'no space left on the file system of /state, and the cluster needs 2 MiB to start: free some space',
  );
  await space(7 << 20, true);
  await space(2 << 20, false);
});
