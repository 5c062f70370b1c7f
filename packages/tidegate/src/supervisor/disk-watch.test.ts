import { smallDisk } from '@tidegate/disk/testing';
import { VirtualClock } from '@tidegate/kube/testing';
import { expect, it, onTestFinished } from 'vitest';
import { DiskWatch } from './disk-watch.ts';

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
