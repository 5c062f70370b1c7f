import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Metrics } from '../base/metrics.ts';
import type { KubeObject } from '../base/object.ts';
import { KubeClient } from '../client/client.ts';
import { FakeServer } from '../testing/fake-server.ts';
import { answerJson, RestObjects } from '../testing/rest.ts';
import { settle, VirtualClock } from '../testing/virtual-clock.ts';
import { LeaderElector, LeadershipLostError } from './leader.ts';

/** Knows when no request is pending, so that virtual time does not run ahead of the sockets. */
class CountingClient extends KubeClient {
  inFlight = 0;

  override get: KubeClient['get'] = (...args) => this.#count(super.get(...args));
  override create: KubeClient['create'] = (...args) => this.#count(super.create(...args));
  override update: KubeClient['update'] = (...args) => this.#count(super.update(...args));

  #count<V>(request: Promise<V>): Promise<V> {
    this.inFlight++;
    return request.finally(() => {
      this.inFlight--;
    });
  }
}

const PATH = '/apis/coordination.k8s.io/v1/namespaces/ns/leases/lock';

describe('leader election', () => {
  let server: FakeServer;
  let leases: RestObjects;
  let client: CountingClient;
  let clock: VirtualClock;
  let stop: AbortController;
  let leading: string[];
  const running: Promise<void>[] = [];

  beforeEach(async () => {
    server = new FakeServer();
    leases = new RestObjects();
    server.intercept = leases.answer;
    client = new CountingClient(await server.start());
    clock = new VirtualClock();
    stop = new AbortController();
    leading = [];
  });
  afterEach(async () => {
    stop.abort();
    await Promise.allSettled(running.splice(0));
    await client.close();
    await server.stop();
  });

  const elector = (
    identity: string,
    options: { clock?: VirtualClock; metrics?: Metrics } = {},
  ): LeaderElector =>
    new LeaderElector(client, {
      namespace: 'ns',
      name: 'lock',
      identity,
      clock,
      random: () => 0,
      ...options,
    });

  function start(
    identity: string,
    signal: AbortSignal,
    options: { clock?: VirtualClock; metrics?: Metrics } = {},
  ): Promise<void> {
    const run = elector(identity, options).run(signal, async (lead) => {
      leading.push(identity);
      await new Promise<void>((resolve) => lead.addEventListener('abort', () => resolve(), { once: true }));
      leading.splice(leading.indexOf(identity), 1);
    });
    run.catch(() => {});
    running.push(run);
    return run;
  }

  async function pass(ms: number, clocks = [clock]): Promise<void> {
    for (let t = 0; t < ms; t += 500) {
      await quiet();
      for (const c of clocks) await c.advance(500);
    }
    await quiet();
  }

  async function quiet(): Promise<void> {
    await settle();
    while (client.inFlight > 0) await settle();
    await settle();
  }

  const spec = (): Record<string, unknown> =>
    (leases.byPath.get(PATH) as KubeObject).spec as Record<string, unknown>;

  it('acquires the lease, renews it, and releases it at the end', async () => {
    const metrics = new Metrics();
    start('a', stop.signal, { metrics });
    await pass(1_000);
    expect(leading).toEqual(['a']);
    expect(spec()).toMatchObject({ holderIdentity: 'a', leaseDurationSeconds: 15, leaseTransitions: 0 });
    expect(spec().renewTime).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/);
    expect(await metrics.scrape()).toContain('leader_election_master_status{name="lock"} 1');
    const first = spec().renewTime;
    await pass(5_000);
    expect(spec().renewTime).not.toBe(first);
    stop.abort();
    await Promise.all(running);
    expect(leading).toEqual([]);
    expect(spec()).toMatchObject({ holderIdentity: '', leaseDurationSeconds: 1 });
    expect(await metrics.scrape()).toContain('leader_election_master_status{name="lock"} 0');
    expect(clock.pending).toBe(0);
  });

  it('has one leader, and the next takes over as soon as it stops', async () => {
    const stopA = new AbortController();
    start('a', stopA.signal);
    await pass(500);
    start('b', stop.signal);
    await pass(20_000);
    expect(leading).toEqual(['a']);
    stopA.abort();
    await pass(3_000);
    expect(leading).toEqual(['b']);
    expect(spec()).toMatchObject({ holderIdentity: 'b', leaseTransitions: 1 });
  });

  it('takes over from a dead leader, using only its own clock', async () => {
    const ahead = new VirtualClock(clock.now() + 3_600_000);
    const dead = {
      apiVersion: 'coordination.k8s.io/v1',
      kind: 'Lease',
      metadata: { name: 'lock', namespace: 'ns', resourceVersion: '1' },
    };
    const times = {
      renewTime: new Date(clock.now()).toISOString(),
      acquireTime: new Date(clock.now()).toISOString(),
    };
    leases.byPath.set(PATH, {
      ...dead,
      spec: { holderIdentity: 'dead', leaseDurationSeconds: 15, ...times },
    });
    start('b', stop.signal, { clock: ahead });
    await pass(13_000, [ahead]);
    expect(leading).toEqual([]);
    await pass(5_000, [ahead]);
    expect(leading).toEqual(['b']);
  });

  it('stops leading when it cannot renew, before others may take over', async () => {
    const run = start('a', stop.signal);
    await pass(1_000);
    const fail: FakeServer['intercept'] = (_, response) => {
      response.destroy();
      return true;
    };
    server.intercept = fail;
    await pass(11_000);
    expect(leading).toEqual([]);
    await expect(run).rejects.toBeInstanceOf(LeadershipLostError);
  });

  it('creates the lease again when it was deleted, whichever error the server answers', async () => {
    start('a', stop.signal);
    await pass(1_000);
    leases.byPath.delete(PATH);
    const message = 'resourceVersion should not be set on objects to be created';
    const status = { kind: 'Status', status: 'Failure', reason: 'BadRequest', code: 400, message };
    server.intercept = (request, response) =>
      request.method === 'PUT' && !leases.byPath.has(PATH)
        ? answerJson(response, status, 400)
        : leases.answer(request, response);
    await pass(3_000);
    expect(leading).toEqual(['a']);
    expect(spec()).toMatchObject({ holderIdentity: 'a' });
  });

  it('stops leading immediately when another candidate has taken the lease', async () => {
    const run = start('a', stop.signal);
    await pass(1_000);
    const lease = leases.byPath.get(PATH)!;
    leases.byPath.set(PATH, {
      ...lease,
      metadata: { ...lease.metadata, resourceVersion: '999' },
      spec: { ...spec(), holderIdentity: 'thief' },
    });
    await pass(3_000);
    await expect(run).rejects.toThrow('lost the lease ns/lock');
    expect(leading).toEqual([]);
    expect(spec()).toMatchObject({ holderIdentity: 'thief' });
  });

  it('rethrows the error of the leading function, and releases the lease', async () => {
    const run = elector('a').run(stop.signal, async () => {
      throw new Error('broken');
    });
    await expect(run).rejects.toThrow('broken');
    expect(spec()).toMatchObject({ holderIdentity: '' });
  });

  it('rejects durations that would allow two leaders', () => {
    const options = { namespace: 'ns', name: 'lock', identity: 'a', leaseDurationMs: 10_000 };
    expect(() => new LeaderElector(client, options)).toThrow(RangeError);
  });
});
