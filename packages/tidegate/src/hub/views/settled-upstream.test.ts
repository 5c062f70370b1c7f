import type { Link } from '@tidegate/kube';
import { VirtualClock } from '@tidegate/kube/testing';
import { describe, expect, test } from 'vitest';
import { SettledUpstream } from './settled-upstream.ts';

class Cable implements Link {
  readonly #listeners = new Set<() => void>();
  online = true;

  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  set(online: boolean): void {
    this.online = online;
    for (const listener of this.#listeners) listener();
  }
}

function rig(online = true): {
  cable: Cable;
  clock: VirtualClock;
  upstream: SettledUpstream;
  seen: boolean[];
} {
  const cable = new Cable();
  cable.online = online;
  const clock = new VirtualClock();
  const upstream = new SettledUpstream(cable, clock);
  const seen: boolean[] = [];
  upstream.onChange(() => seen.push(upstream.online));
  return { cable, clock, upstream, seen };
}

describe('the link as it counts for endpoints', () => {
  test('is back at once after a short time', async () => {
    const { cable, clock, seen } = rig();
    cable.set(false);
    await clock.advance(9_000);
    cable.set(true);
    expect(seen).toEqual([false, true]);
  });

  test('is back a little later after a long one', async () => {
    const { cable, clock, upstream, seen } = rig();
    cable.set(false);
    await clock.advance(60_000);
    cable.set(true);
    await clock.advance(4_000);
    expect(upstream.online).toBe(false);
    await clock.advance(1_000);
    expect(seen).toEqual([false, true]);
  });

  test('that goes again meanwhile is away all the time', async () => {
    const { cable, clock, seen } = rig();
    cable.set(false);
    await clock.advance(60_000);
    cable.set(true);
    await clock.advance(1_000);
    cable.set(false);
    await clock.advance(10_000);
    expect(seen).toEqual([false]);
    cable.set(true);
    await clock.advance(5_000);
    expect(seen).toEqual([false, true]);
  });

  test('of a hub that starts without it is the same', async () => {
    const soon = rig(false);
    soon.cable.set(true);
    expect(soon.upstream.online).toBe(true);
    const late = rig(false);
    await late.clock.advance(60_000);
    late.cable.set(true);
    expect(late.upstream.online).toBe(false);
  });

  test('says nothing any more when it is closed', async () => {
    const { cable, clock, upstream, seen } = rig();
    cable.set(false);
    await clock.advance(60_000);
    cable.set(true);
    upstream.close();
    await clock.advance(60_000);
    cable.set(false);
    expect(seen).toEqual([false]);
  });
});
