import { existsSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { smallDisk } from '@tidegate/disk/testing';
import { expect, it } from 'vitest';
import { StateDirectory } from './state.ts';
import { stopCluster } from './stop.ts';
import { wipeState } from './wipe.ts';

it('needs no space', async () => {
  const disk = await smallDisk();
  const state = new StateDirectory(join(disk.directory, 'state'));
  await mkdir(state.logs, { recursive: true });
  await writeFile(state.clusterFile, '{}');
  await writeFile(join(state.logs, 'manager.log'), 'x');
  disk.fill();
  // As `tidegate down --wipe` does.
  expect(await stopCluster(state, () => {})).toBe(false);
  expect(await wipeState(state)).toEqual([]);
  expect(existsSync(state.path)).toBe(false);
});

it('refuses a directory that is not a state directory', async () => {
  const { directory } = await smallDisk();
  await expect(wipeState(new StateDirectory(directory))).rejects.toThrow('nothing was removed');
});
