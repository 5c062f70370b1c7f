import type { Link } from '@tidegate/kube';
import { VirtualClock } from '@tidegate/kube/testing';
import { describe, expect, test } from 'vitest';
import { SettledUpstream } from './settled-upstream.ts';

class FakeLink implements Link {
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
  link: FakeLink;
  clock: VirtualClock;
  upstream: SettledUpstream;
  seen: boolean[];
} {
  const link = new FakeLink();
  link.online = online;
  const clock = new VirtualClock();
  const upstream = new SettledUpstream(link, clock);
  const seen: boolean[] = [];
  upstream.onChange(() => seen.push(upstream.online));
  return { link, clock, upstream, seen };
}

describe('SettledUpstream', () => {
  test('is online immediately after a short outage', async () => {
    const { link, clock, seen } = rig();
    link.set(false);
    await clock.advance(9_000);
    link.set(true);
    expect(seen).toEqual([false, true]);
  });

  test('is online five seconds later after a long outage', async () => {
    const { link, clock, upstream, seen } = rig();
    link.set(false);
    await clock.advance(60_000);
    link.set(true);
    await clock.advance(4_000);
    expect(upstream.online).toBe(false);
    await clock.advance(1_000);
    expect(seen).toEqual([false, true]);
  });

  test('stays offline if the link fails again while it settles', async () => {
    const { link, clock, seen } = rig();
    link.set(false);
    await clock.advance(60_000);
    link.set(true);
    await clock.advance(1_000);
    link.set(false);
    await clock.advance(10_000);
    expect(seen).toEqual([false]);
    link.set(true);
    await clock.advance(5_000);
    expect(seen).toEqual([false, true]);
  });

  test('measures the outage from the start of the hub if the hub starts offline', async () => {
    const soon = rig(false);
    soon.link.set(true);
    expect(soon.upstream.online).toBe(true);
    const late = rig(false);
    await late.clock.advance(60_000);
    late.link.set(true);
    expect(late.upstream.online).toBe(false);
  });

  test('calls no listeners after it is closed', async () => {
    const { link, clock, upstream, seen } = rig();
    link.set(false);
    await clock.advance(60_000);
    link.set(true);
    upstream.close();
    await clock.advance(60_000);
    link.set(false);
    expect(seen).toEqual([false]);
  });
});
