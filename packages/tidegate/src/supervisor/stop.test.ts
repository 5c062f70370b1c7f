import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { lockDirectory } from '@tidegate/disk';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { ControlServer } from './control.ts';
import { StateDirectory } from './state.ts';
import { stopCluster } from './stop.ts';

let state: StateDirectory;
beforeEach(async () => {
  state = new StateDirectory(await mkdtemp(join(tmpdir(), 'tidegate-stop-')));
});
afterEach(() => rm(state.path, { recursive: true, force: true }));

it('resolves when the supervisor has released the lock, not when it replies', async () => {
  const unlock = await lockDirectory(state.path);
  const answered: string[] = [];
  const control = await ControlServer.listen(state.socket, async ({ command }) => {
    answered.push(command);
  });
  let isDone = false;
  const stopped = stopCluster(state, () => {}).then((wasRunning) => {
    isDone = true;
    return wasRunning;
  });
  while (answered.length === 0) await sleep(5);
  await control.close();
  await sleep(50);
  expect(isDone).toBe(false);
  await unlock();
  expect(await stopped).toBe(true);
});

it('resolves immediately when the state directory holds no cluster', async () => {
  expect(await stopCluster(new StateDirectory(join(state.path, 'none')), () => {})).toBe(false);
});
