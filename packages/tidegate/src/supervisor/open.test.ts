import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type ClusterOptions, openCluster } from './open.ts';
import { readCluster, StateDirectory, writeCluster } from './state.ts';

let state: StateDirectory;
beforeEach(async () => {
  state = new StateDirectory(await mkdtemp(join(tmpdir(), 'tidegate-')));
});
afterEach(() => rm(state.path, { recursive: true }));

/** Opens a cluster with these options; returns whether its example is still to be created. */
async function awaitsStory(options: ClusterOptions): Promise<boolean> {
  const { close } = await openCluster(state, { port: 0, ...options }, () => {});
  await close();
  return (await readCluster(state))?.awaitsStory === true;
}

describe('the example', () => {
  test('is created only in new clusters, and stays pending until it is created', async () => {
    expect(await awaitsStory({})).toBe(true);
    expect(await awaitsStory({})).toBe(true);
    const { awaitsStory: _, ...created } = (await readCluster(state))!;
    writeCluster(state, created);
    expect(await awaitsStory({})).toBe(false);
  });

  test.each<ClusterOptions>([{ story: false }, { empty: true }, { nodes: '1' }])(
    'is never created after an `up` with %o',
    async (options) => {
      expect(await awaitsStory(options)).toBe(false);
      expect(await awaitsStory({})).toBe(false);
    },
  );
});
