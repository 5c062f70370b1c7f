import { Agent } from 'node:http';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { NeedsFullState } from '../../../packages/tidegate/src/dataplane/driver.ts';
import { reservePort } from '../../support/ports.ts';
import type { Backend } from '../support/backend.ts';
import { ask } from '../support/client.ts';
import { delta, host, route, upstream } from '../support/words.ts';
import { type MakeDriver, World } from '../support/world.ts';

/** Applying deltas and full states. */
export function changes(make: MakeDriver): void {
  describe('changes', () => {
    let world: World;
    let backends: Backend[];

    beforeAll(async () => {
      world = await World.start(make);
      backends = await Promise.all(['b0', 'b1', 'b2', 'b3'].map((name) => world.backend(name)));
    });
    afterAll(() => world.stop());
    const port = (index: number): number => backends[index]!.port;

    test('responds with 503 and is not ready before the first table', async () => {
      const empty = await World.start(make);
      onTestFinished(() => empty.stop());
      expect(empty.driver.health().ready).toBe(false);
      expect(empty.driver.health().reasons).not.toEqual([]);
      expect(await empty.respondingBackend('a.io/')).toBe(503);
      await empty.change({});
      expect(empty.driver.health()).toEqual({ ready: true, reasons: [] });
      expect(await empty.respondingBackend('a.io/')).toBe(404);
    });

    test('serves the initial table from the first request on', async () => {
      const httpPort = await reservePort();
      const hosts = Array.from({ length: 2000 }, (_, i) => host(`h${i}.io`, 'p'));
      const first = { hosts: [...hosts, host('a.io', 'p')], upstreams: [upstream('p', [port(0)])] };
      let isUp = false;
      const starting = World.start(make, {}, { httpPort, first }).finally(() => {
        isUp = true;
      });
      const statuses = new Set<number>();
      while (!isUp) {
        const status = await ask(httpPort, 'a.io/').then(
          (answer) => answer.status,
          // The data plane does not listen yet.
          () => undefined,
        );
        if (status !== undefined) statuses.add(status);
        await new Promise((resolve) => setImmediate(resolve));
      }
      const begun = await starting;
      onTestFinished(() => begun.stop());
      expect(await begun.respondingBackend('a.io/')).toBe('b0');
      expect([...statuses].filter((status) => status !== 200)).toEqual([]);
      expect(begun.driver.health()).toEqual({ ready: true, reasons: [] });
      await begun.change({ hosts: [host('b.io', 'p')] });
      expect([await begun.respondingBackend('a.io/'), await begun.respondingBackend('b.io/')]).toEqual([
        'b0',
        'b0',
      ]);
    });

    test('has applied a delta in all workers when apply resolves', async () => {
      await world.change({ hosts: [host('a.io', 'p')], upstreams: [upstream('p', [port(0)])] });
      for (let i = 0; i < 40; i++) {
        await world.change({ upstreams: [upstream('p', [port(i % 4)])] });
        // New connections, so that any worker can get the requests.
        const names = await Promise.all([1, 2, 3, 4].map(() => world.respondingBackend('a.io/')));
        expect(new Set(names)).toEqual(new Set([`b${i % 4}`]));
      }
    });

    test('adds, changes and removes routes', async () => {
      await world.change({
        hosts: [host('b.io', 'p1'), host('c.io', 'p1')],
        upstreams: [upstream('p1', [port(1)])],
      });
      expect(await world.respondingBackend('b.io/x')).toBe('b1');
      await world.change({
        hosts: [host('b.io', [route('/x', 'p2')])],
        upstreams: [upstream('p2', [port(2)])],
      });
      expect(await world.respondingBackend('b.io/x')).toBe('b2');
      expect(await world.respondingBackend('b.io/')).toBe(404);
      expect(await world.respondingBackend('c.io/')).toBe('b1');
      await world.change({ without: { hosts: ['b.io'], upstreams: ['p2'] } });
      expect(await world.respondingBackend('b.io/x')).toBe(404);
      expect(await world.respondingBackend('c.io/')).toBe('b1');
    });

    test('applies each change to open connections', async () => {
      const agent = new Agent({ keepAlive: true, maxSockets: 1 });
      for (const index of [0, 1, 2, 3]) {
        await world.change({
          hosts: [host('keep.io', 'keep')],
          upstreams: [upstream('keep', [port(index)])],
        });
        expect(await world.respondingBackend('keep.io/', { agent })).toBe(`b${index}`);
      }
      agent.destroy();
    });

    test('replaces the whole table with a delta from 0', async () => {
      await world.replace({ hosts: [host('only.io', 'only')], upstreams: [upstream('only', [port(3)])] });
      expect(await world.respondingBackend('only.io/')).toBe('b3');
      expect(await world.respondingBackend('c.io/')).toBe(404);
      expect(await world.respondingBackend('a.io/')).toBe(404);
    });

    test('rejects deltas after a missing one and asks for the full state', async () => {
      const { driver, generation } = world;
      const late = { hosts: [host('late.io', 'late')], upstreams: [upstream('late', [port(1)])] };
      await expect(driver.apply(delta(generation + 1, generation + 2, late))).rejects.toThrow(NeedsFullState);
      await expect(driver.apply(delta(generation + 7, generation + 8, late))).rejects.toThrow(NeedsFullState);
      expect(await world.respondingBackend('late.io/')).toBe(404);
      expect(await world.respondingBackend('only.io/')).toBe('b3');
      await world.change(late);
      expect(await world.respondingBackend('late.io/')).toBe('b1');
    });

    test('applies deltas in order without waiting in between', async () => {
      const from = world.generation;
      await world.change({ hosts: [host('order.io', 'order')], upstreams: [upstream('order', [port(0)])] });
      await Promise.all(
        Array.from({ length: 20 }, (_, i) =>
          world.change({ upstreams: [upstream('order', [port((i + 1) % 4)])] }),
        ),
      );
      expect(world.generation).toBe(from + 21);
      expect(await world.respondingBackend('order.io/')).toBe('b0');
    });

    test('uses endpoints in turn, and sends nothing to removed ones', async () => {
      const ports = [0, 1, 2, 3].map(port);
      await world.change({ hosts: [host('turn.io', 'turn')], upstreams: [upstream('turn', ports)] });
      const ask = async (times: number) => {
        const names: (string | number)[] = [];
        for (let i = 0; i < times; i++) names.push(await world.respondingBackend('turn.io/'));
        return [...new Set(names)].sort();
      };
      expect(await ask(40)).toEqual(['b0', 'b1', 'b2', 'b3']);
      await world.change({ upstreams: [upstream('turn', ports.slice(2))] });
      expect(await ask(20)).toEqual(['b2', 'b3']);
      await world.change({ upstreams: [upstream('turn', [])] });
      expect(await ask(2)).toEqual([503]);
      await world.change({ upstreams: [upstream('turn', ports.slice(0, 1))] });
      expect(await ask(5)).toEqual(['b0']);
    });

    test('sends fewer requests to a busy endpoint with least connections', async () => {
      const held: (() => void)[] = [];
      const busy = await world.backend('busy', {
        handle: (_, response) => {
          held.push(() => response.end(JSON.stringify({ backend: 'busy' })));
        },
      });
      const balance = 'leastConnections' as const;
      await world.change({
        hosts: [host('least.io', 'least')],
        upstreams: [upstream('least', [busy.port, port(0)], { balance })],
      });
      const asked: Promise<string | number>[] = [];
      for (let i = 0; i < 30; i++) {
        const before = held.length;
        let isAnswered = false;
        const next = world.respondingBackend('least.io/').finally(() => {
          isAnswered = true;
        });
        asked.push(next);
        await expect.poll(() => isAnswered || held.length > before, { interval: 5 }).toBe(true);
      }
      for (const finish of held) finish();
      const names = await Promise.all(asked);
      // Each worker counts its own requests only.
      expect(names.filter((each) => each === 'busy').length).toBeLessThanOrEqual(8);
    });

    test('finishes a request whose route and endpoint are removed', async () => {
      let finish = (): void => {};
      const slow = await world.backend('slow', {
        handle: (_, response) => {
          finish = () => response.end(JSON.stringify({ backend: 'slow' }));
        },
      });
      await world.change({ hosts: [host('slow.io', 'slow')], upstreams: [upstream('slow', [slow.port])] });
      const asked = world.respondingBackend('slow.io/');
      await expect.poll(() => slow.requests).toBe(1);
      await world.change({ upstreams: [upstream('slow', [port(0)])] });
      await world.change({ without: { hosts: ['slow.io'], upstreams: ['slow'] } });
      finish();
      expect(await asked).toBe('slow');
    });

    test('connects to endpoints over IPv6', async () => {
      const six = await world.backend('six', { address: '::1' });
      const endpoints = [{ address: '::1', port: six.port }];
      await world.change({
        hosts: [host('six.io', 'six')],
        upstreams: [upstream('six', [], { endpoints, problem: undefined })],
      });
      expect(await world.respondingBackend('six.io/')).toBe('six');
    });
  });
}
