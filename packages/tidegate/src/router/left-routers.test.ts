import { ApiStatusError, silentLogger } from '@tidegate/kube';
import { VirtualClock } from '@tidegate/kube/testing';
import { expect, it } from 'vitest';
import type { L7Router } from '../api/index.ts';
import { LeftRouters } from './left-routers.ts';

const GOLD = { number: 1, router: 'gold', uid: 'u-1' };
const MINUTE = 60_000;
const GONE = new ApiStatusError({
  kind: 'Status',
  apiVersion: 'v1',
  status: 'Failure',
  reason: 'NotFound',
  code: 404,
  metadata: {},
});

const router = (uid: string, appliedGeneration?: number): L7Router => ({
  apiVersion: 'networking.tidegate.io/v1alpha1',
  kind: 'L7Router',
  metadata: { name: 'gold', uid, generation: 2 },
  spec: { ingressClassName: 'gold', driver: 'nginx' },
  status: {
    ...(appliedGeneration !== undefined && { appliedGeneration }),
    conditions: [{ type: 'Ready', status: 'True', reason: 'Serving', message: '', lastTransitionTime: '' }],
  },
});

/** A router has left the pods. `answer` is what the API server has of it. */
function left(answer: L7Router | Error) {
  const clock = new VirtualClock();
  const stop = new AbortController();
  const calls: string[] = [];
  const world = { answer, clock, calls, stop };
  const routers = new LeftRouters({
    read: async () => {
      if (world.answer instanceof Error) throw world.answer;
      return world.answer;
    },
    clock,
    log: silentLogger,
    onReleased: ({ router: name }) => calls.push(`released ${name}`),
    onEnded: ({ router: name }) => calls.push(`ended ${name}`),
  });
  routers.add(GOLD, stop.signal);
  return Object.assign(world, { routers });
}

it('a router that changes to other pods holds its section until they serve it, and a minute longer', async () => {
  const world = left(router('u-1', 1));
  await world.clock.advance(30 * MINUTE);
  expect([world.routers.isHeld('gold'), world.calls]).toEqual([true, []]);
  world.answer = router('u-1', 2);
  await world.clock.advance(MINUTE);
  expect([world.routers.isHeld('gold'), world.calls]).toEqual([true, []]);
  await world.clock.advance(MINUTE);
  expect([world.routers.isHeld('gold'), world.calls]).toEqual([false, ['ended gold', 'released gold']]);
  expect(world.clock.pending).toBe(0);
});

it.each([
  ['was deleted', GONE],
  ['was deleted and created again', router('u-2', 2)],
])('a router that %s releases its section at once, and is served a minute longer', async (_, answer) => {
  const world = left(answer);
  await world.clock.advance(1);
  expect([world.routers.isHeld('gold'), world.calls]).toEqual([false, ['released gold']]);
  await world.clock.advance(MINUTE);
  expect(world.calls).toEqual(['released gold', 'ended gold']);
});

it('a router holds its section while the API server does not answer', async () => {
  const world = left(new Error('connection refused'));
  await world.clock.advance(60 * MINUTE);
  expect([world.routers.isHeld('gold'), world.calls]).toEqual([true, []]);
  world.answer = GONE;
  await world.clock.advance(MINUTE);
  expect(world.calls).toEqual(['released gold']);
});

it('a router that returns holds nothing, and leaves no timer', async () => {
  const world = left(router('u-1', 1));
  await world.clock.advance(MINUTE);
  world.routers.returned('gold');
  await world.clock.advance(60 * MINUTE);
  expect([world.routers.isHeld('gold'), world.calls, world.clock.pending]).toEqual([false, [], 0]);
});

it('leaves no timer when the pods end', async () => {
  const world = left(router('u-1', 1));
  await world.clock.advance(MINUTE);
  world.stop.abort();
  await world.clock.advance(1);
  expect(world.clock.pending).toBe(0);
});
