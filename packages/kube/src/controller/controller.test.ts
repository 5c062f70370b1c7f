import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Metrics } from '../base/metrics.ts';
import { KubeClient } from '../client/client.ts';
import { Informer } from '../informer/informer.ts';
import { FakeServer, WIDGETS } from '../testing/fake-server.ts';
import { settle, VirtualClock } from '../testing/virtual-clock.ts';
import { Controller, type ControllerOptions, TerminalError } from './controller.ts';

const clock = (): VirtualClock => new VirtualClock();

describe('controller', () => {
  let stop: AbortController;
  let metrics: Metrics;
  beforeEach(() => {
    stop = new AbortController();
    metrics = new Metrics();
  });

  const make = (options: Partial<ControllerOptions> & Pick<ControllerOptions, 'reconcile'>): Controller =>
    new Controller({ name: 'c', metrics, queue: { random: () => 1 }, ...options });

  const end = async (running: Promise<void>): Promise<void> => {
    stop.abort();
    await running;
  };

  it('handles each of the four outcomes', async () => {
    const time = clock();
    const calls: string[] = [];
    const controller = make({
      clock: time,
      async reconcile(key) {
        calls.push(key);
        if (key === 'again') return { requeueAfter: 60_000 };
        if (key === 'error' && calls.filter((k) => k === 'error').length < 3) throw new Error('not yet');
        if (key === 'terminal') throw new TerminalError('never');
        return undefined;
      },
    });
    const running = controller.run(stop.signal);
    for (const key of ['ok', 'again', 'error', 'terminal']) controller.enqueue(key);
    await time.advance(59_000);
    expect(calls).toEqual(['ok', 'again', 'error', 'terminal', 'error', 'error']);
    await time.advance(1_000);
    expect(calls.at(-1)).toBe('again');
    const text = await metrics.scrape();
    expect(text).toContain('controller_runtime_reconcile_total{controller="c",result="success"} 2');
    expect(text).toContain('controller_runtime_reconcile_total{controller="c",result="requeue_after"} 2');
    expect(text).toContain('controller_runtime_reconcile_total{controller="c",result="error"} 3');
    expect(text).toContain('controller_runtime_reconcile_errors_total{controller="c"} 3');
    expect(text).toContain('controller_runtime_terminal_reconcile_errors_total{controller="c"} 1');
    expect(text).toContain('controller_runtime_reconcile_time_seconds_count{controller="c"} 7');
    expect(text).toContain('controller_runtime_active_workers{controller="c"} 0');
    expect(text).toContain('controller_runtime_max_concurrent_reconciles{controller="c"} 1');
    await end(running);
    expect(time.pending).toBe(0);
  });

  it('reconciles several keys at once, but never one key twice', async () => {
    const active = new Map<string, number>();
    let most = 0;
    const controller = make({
      concurrency: 3,
      async reconcile(key) {
        active.set(key, (active.get(key) ?? 0) + 1);
        expect(active.get(key)).toBe(1);
        most = Math.max(
          most,
          [...active.values()].reduce((a, b) => a + b, 0),
        );
        await settle();
        controller.enqueue('a');
        await settle();
        active.set(key, active.get(key)! - 1);
      },
    });
    const running = controller.run(stop.signal);
    for (const key of ['a', 'b', 'c', 'd']) controller.enqueue(key);
    for (let i = 0; i < 30; i++) await settle();
    await end(running);
    expect(most).toBe(3);
  });

  it('finishes running reconciles before it stops, and starts no more', async () => {
    const calls: string[] = [];
    let finish = (): void => {};
    let aborted = false;
    const controller = make({
      clock: clock(),
      reconcile(key, signal) {
        calls.push(key);
        signal.addEventListener('abort', () => {
          aborted = true;
        });
        return new Promise<void>((resolve) => {
          finish = resolve;
        });
      },
    });
    const running = controller.run(stop.signal);
    controller.enqueue('a');
    controller.enqueue('b');
    await settle();
    stop.abort();
    await settle();
    finish();
    await running;
    expect(calls).toEqual(['a']);
    expect(aborted).toBe(false);
  });

  it('reconciles nothing when it is stopped before the caches have synced', async () => {
    const calls: string[] = [];
    const controller = make({
      async reconcile(key) {
        calls.push(key);
      },
    });
    controller.enqueue('a');
    stop.abort();
    await controller.run(stop.signal);
    expect(calls).toEqual([]);
  });

  it('aborts reconciles that exceed the grace period', async () => {
    const time = clock();
    const controller = make({
      clock: time,
      graceMs: 5_000,
      reconcile: (_, signal) =>
        new Promise<void>((_, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
    });
    const running = controller.run(stop.signal);
    controller.enqueue('a');
    await settle();
    stop.abort();
    await time.advance(5_000);
    await running;
  });

  describe('with informers', () => {
    const server = new FakeServer();
    let client: KubeClient;
    beforeEach(async () => {
      client = new KubeClient(await server.start());
    });
    afterEach(async () => {
      await client.close();
      await server.stop();
    });

    it('waits for the caches, then reconciles changes, including both sides of a move', async () => {
      server.put('a', { owner: 'x' });
      const informer = new Informer(client, WIDGETS);
      const seen: string[] = [];
      const controller = make({
        async reconcile(key) {
          expect(informer.hasSynced).toBe(true);
          seen.push(key);
        },
      }).watch(informer, (o) => [`owner-${o.owner}`]);
      const running = Promise.all([controller.run(stop.signal), informer.run(stop.signal)]);
      await until(() => seen.length === 1);
      server.put('a', { owner: 'y' });
      await until(() => seen.length === 3);
      server.put('a', { owner: 'y', size: 2 });
      await until(() => seen.length === 4);
      server.remove('a');
      await until(() => seen.length === 5);
      // An update that does not change the key is one reconcile, even though a worker was idle.
      expect(seen).toEqual(['owner-x', 'owner-x', 'owner-y', 'owner-y', 'owner-y']);
      stop.abort();
      await running;
    });
  });
});

async function until(condition: () => boolean): Promise<void> {
  for (let i = 0; !condition(); i++) {
    if (i === 100_000) throw new Error('it never happened');
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
}
