import { SwitchedConnection, VirtualClock } from '@tidegate/kube/testing';
import { describe, expect, test } from 'vitest';
import { SettledUpstream } from './settled-upstream.ts';

function rig(online = true): {
  upstream: SwitchedConnection;
  clock: VirtualClock;
  settled: SettledUpstream;
  seen: boolean[];
} {
  const upstream = new SwitchedConnection();
  upstream.online = online;
  const clock = new VirtualClock();
  const settled = new SettledUpstream(upstream, clock);
  const seen: boolean[] = [];
  settled.onChange(() => seen.push(settled.online));
  return { upstream, clock, settled, seen };
}

describe('SettledUpstream', () => {
  test('is online immediately after a short outage', async () => {
    const { upstream, clock, seen } = rig();
    upstream.turn(false);
    await clock.advance(9_000);
    upstream.turn(true);
    expect(seen).toEqual([false, true]);
  });

  test('is online five seconds later after a long outage', async () => {
    const { upstream, clock, settled, seen } = rig();
    upstream.turn(false);
    await clock.advance(60_000);
    upstream.turn(true);
    await clock.advance(4_000);
    expect(settled.online).toBe(false);
    await clock.advance(1_000);
    expect(seen).toEqual([false, true]);
  });

  test('stays offline if the upstream fails again while it settles', async () => {
    const { upstream, clock, seen } = rig();
    upstream.turn(false);
    await clock.advance(60_000);
    upstream.turn(true);
    await clock.advance(1_000);
    upstream.turn(false);
    await clock.advance(10_000);
    expect(seen).toEqual([false]);
    upstream.turn(true);
    await clock.advance(5_000);
    expect(seen).toEqual([false, true]);
  });

  test('measures the outage from the start of the hub if the hub starts offline', async () => {
    const soon = rig(false);
    soon.upstream.turn(true);
    expect(soon.settled.online).toBe(true);
    const late = rig(false);
    await late.clock.advance(60_000);
    late.upstream.turn(true);
    expect(late.settled.online).toBe(false);
  });

  test('calls no listeners after it is closed', async () => {
    const { upstream, clock, settled, seen } = rig();
    upstream.turn(false);
    await clock.advance(60_000);
    upstream.turn(true);
    settled.close();
    await clock.advance(60_000);
    upstream.turn(false);
    expect(seen).toEqual([false]);
  });
});
