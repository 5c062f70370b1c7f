import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type ClusterWish, openCluster } from './open.ts';
import { readCluster, StateDirectory, writeCluster } from './state.ts';

let state: StateDirectory;
beforeEach(async () => {
  state = new StateDirectory(await mkdtemp(join(tmpdir(), 'tidegate-')));
});
afterEach(() => rm(state.path, { recursive: true }));

/** Whether a cluster that was opened so awaits its story. */
async function awaitsStory(wish: ClusterWish): Promise<boolean> {
  const { unlock } = await openCluster(state, { port: 0, ...wish }, () => {});
  await unlock();
  return (await readCluster(state))?.awaitsStory === true;
}

describe('the story', () => {
  test('is for new clusters, until it was told', async () => {
    expect(await awaitsStory({})).toBe(true);
    expect(await awaitsStory({})).toBe(true);
    const { awaitsStory: _, ...told } = (await readCluster(state))!;
    writeCluster(state, told);
    expect(await awaitsStory({})).toBe(false);
  });

  test.each<ClusterWish>([{ story: false }, { empty: true }, { nodes: '1' }])(
    'is neither told now nor later after %o',
    async (wish) => {
      expect(await awaitsStory(wish)).toBe(false);
      expect(await awaitsStory({})).toBe(false);
    },
  );
});
