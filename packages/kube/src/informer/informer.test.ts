import { setTimeout as realSleep } from 'node:timers/promises';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Logger, silentLogger } from '../base/log.ts';
import type { KubeObject } from '../base/object.ts';
import { KubeClient } from '../client/client.ts';
import { FakeServer, WIDGETS } from '../testing/fake-server.ts';
import { VirtualClock } from '../testing/virtual-clock.ts';
import { Informer } from './informer.ts';
import { Informers } from './informers.ts';

class Rig {
  readonly server = new FakeServer();
  readonly clock = new VirtualClock();
  readonly stop = new AbortController();
  readonly events: string[] = [];
  readonly reported: unknown[] = [];
  client!: KubeClient;
  informer!: Informer;
  running: Promise<void> = Promise.resolve();

  readonly log: Logger = {
    ...silentLogger,
    error: (fields) => this.reported.push(fields),
    child: () => this.log,
  };

  async start(options: { watchList?: boolean } = {}): Promise<this> {
    this.server.supportsWatchList = options.watchList ?? true;
    this.client = new KubeClient(await this.server.start());
    this.informer = new Informer(this.client, WIDGETS, {
      clock: this.clock,
      random: () => 0.5,
      log: this.log,
    });
    this.informer.addHandler({
      onAdd: (o) => this.events.push(`+${o.metadata.name}`),
      onUpdate: (old, o) => this.events.push(`~${o.metadata.name}:${old.value}>${o.value}`),
      onDelete: (o) => this.events.push(`-${o.metadata.name}`),
    });
    this.running = this.informer.run(this.stop.signal);
    return this;
  }

  async end(): Promise<void> {
    this.stop.abort();
    await this.running;
    await this.client.close();
    await this.server.stop();
  }

  /** Advances virtual time while the sockets do their work. */
  readonly until = async (condition: () => boolean, stepMs = 1_000): Promise<void> => {
    for (let i = 0; !condition(); i++) {
      if (i === 100_000) throw new Error('it never happened');
      await realSleep(1);
      await this.clock.advance(stepMs);
    }
  };

  /** Does not advance virtual time. */
  soon(condition: () => boolean): Promise<void> {
    return this.until(condition, 0);
  }

  takeEvents(): string[] {
    return this.events.splice(0);
  }

  get listRequests(): number {
    return this.server.requests.filter((r) => !r.url.searchParams.has('watch')).length;
  }
}

const contents = (objects: Iterable<KubeObject>): Record<string, KubeObject> =>
  Object.fromEntries([...objects].map((o) => [o.metadata.name, o]));

describe('informer', () => {
  let rig: Rig;
  beforeEach(() => {
    rig = new Rig();
  });
  afterEach(() => rig.end());

  it('streams the initial state and follows changes', async () => {
    rig.server.put('a', { value: 1 });
    await rig.start();
    await rig.informer.synced;
    expect(rig.takeEvents()).toEqual(['+a']);
    rig.server.put('a', { value: 2 });
    rig.server.put('b');
    rig.server.remove('a');
    await rig.soon(() => rig.events.length === 3);
    expect(rig.takeEvents()).toEqual(['~a:1>2', '+b', '-a']);
    expect(rig.listRequests).toBe(0);
    expect(rig.informer.hasSynced).toBe(true);
    expect([...rig.informer.cache.keys()]).toEqual(['default/b']);
  });

  it('falls back to a list if the server has no watch-list, and tries watch-list only once', async () => {
    rig.server.put('a');
    await rig.start({ watchList: false });
    await rig.informer.synced;
    rig.server.compact();
    await rig.soon(() => rig.server.watchers === 1);
    rig.server.put('b');
    rig.server.compact();
    rig.server.drop();
    await rig.until(() => rig.informer.cache.size === 2 && rig.server.watchers === 1);
    expect(rig.server.requests.filter((r) => r.url.searchParams.has('sendInitialEvents'))).toHaveLength(1);
  });

  it('resumes a dropped watch from the last version', async () => {
    await rig.start();
    await rig.soon(() => rig.server.watchers === 1);
    rig.server.put('a', { value: 1 });
    await rig.soon(() => rig.informer.cache.size === 1);
    rig.server.drop();
    rig.server.put('a', { value: 2 });
    rig.server.put('b');
    await rig.until(() => rig.informer.cache.size === 2);
    expect(rig.takeEvents()).toEqual(['+a', '~a:1>2', '+b']);
    const last = rig.server.requests.at(-1)!.url.searchParams;
    expect(last.get('resourceVersion')).toBe('101');
    expect(last.get('allowWatchBookmarks')).toBe('true');
    expect(Number(last.get('timeoutSeconds'))).toBe(450);
  });

  it('resumes from a bookmark, and is not affected by an earlier compaction', async () => {
    rig.server.put('a');
    await rig.start();
    await rig.informer.synced;
    rig.server.put('noise');
    rig.server.remove('noise');
    rig.server.compact();
    rig.server.bookmark();
    await rig.soon(() => rig.events.length === 3);
    rig.server.end();
    await rig.soon(() => rig.server.watchers === 1);
    rig.server.put('b');
    await rig.soon(() => rig.informer.cache.size === 2);
    expect(rig.server.requests).toHaveLength(2);
  });

  it.each([
    ['answered to the watch', false],
    ['sent as an event', true],
  ])('catches up after 410 %s', async (_, asEvent) => {
    for (const name of ['kept', 'changed', 'gone', 'replaced']) rig.server.put(name, { value: 1 });
    await rig.start();
    await rig.informer.synced;
    rig.takeEvents();
    rig.server.freeze();
    rig.server.put('changed', { value: 2 });
    rig.server.remove('gone');
    rig.server.remove('replaced');
    rig.server.put('replaced', { value: 3 });
    rig.server.put('new');
    rig.server.compact();
    if (asEvent) rig.server.sendError(410, 'Expired');
    else rig.server.drop();
    await rig.until(() => rig.events.length >= 5);
    expect(rig.takeEvents().sort()).toEqual(['+new', '+replaced', '-gone', '-replaced', '~changed:1>2']);
    expect(contents(rig.informer.cache.list())).toEqual(contents(rig.server.objects.values()));
  });

  it('abandons a half-open watch', async () => {
    await rig.start();
    await rig.informer.synced;
    await rig.soon(() => rig.server.watchers === 1);
    rig.server.freeze();
    rig.server.put('a');
    await rig.clock.advance(179_000);
    expect(rig.server.requests).toHaveLength(1);
    await rig.until(() => rig.informer.cache.size === 1);
    expect(rig.server.requests).toHaveLength(2);
  });

  it('waits for the whole timeout of a quiet server without bookmarks', async () => {
    await rig.start({ watchList: false });
    await rig.soon(() => rig.server.watchers === 1);
    const before = rig.server.requests.length;
    await rig.clock.advance(479_000);
    expect(rig.server.requests).toHaveLength(before);
    rig.server.freeze();
    await rig.until(() => rig.server.requests.length > before);
  });

  it('backs off from a failing server, and recovers', async () => {
    for (let i = 0; i < 5; i++) rig.server.failNext({ code: 500, body: 'boom' });
    rig.server.put('a');
    await rig.start();
    await rig.soon(() => rig.server.requests.length === 1);
    await realSleep(5);
    await rig.clock.advance(300);
    expect(rig.server.requests).toHaveLength(1);
    await rig.until(() => rig.informer.hasSynced);
    expect(rig.takeEvents()).toEqual(['+a']);
  });

  it('tolerates exceptions of handlers, index functions and transforms', async () => {
    await rig.start();
    rig.informer.addHandler({
      onAdd() {
        throw new Error('handler');
      },
    });
    rig.informer.addIndex('broken', () => {
      throw new Error('index');
    });
    rig.server.put('a');
    rig.server.put('b');
    await rig.soon(() => rig.events.length === 2);
    expect(rig.reported).toHaveLength(4);
    expect(rig.informer.cache.byIndex('broken', 'x')).toEqual([]);
  });

  it('replays the cache to late handlers and late indexes', async () => {
    rig.server.put('a', { color: 'red' });
    rig.server.put('b', { color: 'blue' });
    await rig.start();
    await rig.informer.synced;
    const late: string[] = [];
    const remove = rig.informer.addHandler({ onAdd: (o) => late.push(`${o.metadata.name}`) });
    rig.informer.addIndex('color', (o) => [String(o.color)]);
    expect(late).toEqual(['a', 'b']);
    expect(rig.informer.cache.byIndex('color', 'red').map((o) => o.metadata.name)).toEqual(['a']);
    remove();
    rig.server.put('a', { color: 'blue' });
    rig.server.remove('b');
    await rig.soon(() => rig.informer.cache.size === 1 && rig.events.length === 4);
    expect(late).toHaveLength(2);
    expect(rig.informer.cache.byIndex('color', 'red')).toEqual([]);
    expect(rig.informer.cache.byIndex('color', 'blue').map((o) => o.metadata.name)).toEqual(['a']);
    expect(() => rig.informer.cache.byIndex('size', '1')).toThrow('index "size" does not exist');
  });

  it('tolerates events that arrive twice or in the wrong order', async () => {
    await rig.start();
    await rig.soon(() => rig.server.watchers === 1);
    rig.server.copies = 2;
    rig.server.swapping = true;
    rig.server.put('ghost', { value: 1 });
    rig.server.remove('ghost');
    rig.server.put('a', { value: 1 });
    rig.server.put('a', { value: 2 });
    rig.server.swapping = false;
    rig.server.put('b');
    await rig.soon(() => rig.informer.cache.get('default/b') !== undefined);
    expect(contents(rig.informer.cache.list())).toEqual(contents(rig.server.objects.values()));
    expect(rig.takeEvents()).toEqual(['+a', '+b']);
  });

  it('leaves no timers', async () => {
    await rig.start();
    await rig.informer.synced;
    rig.stop.abort();
    await rig.running;
    expect(rig.clock.pending).toBe(0);
  });

  it('is shared by all users of the same resource and selection', async () => {
    await rig.start();
    const informers = new Informers(rig.client, { clock: rig.clock });
    const one = informers.for(WIDGETS);
    expect(informers.for(WIDGETS)).toBe(one);
    const running = informers.run(rig.stop.signal);
    const selected = informers.for(WIDGETS, { labelSelector: 'a=b' });
    expect(selected).not.toBe(one);
    rig.server.put('a');
    await informers.synced();
    expect(one.hasSynced && selected.hasSynced).toBe(true);
    rig.stop.abort();
    await running;
  });

  it('ends before the others, and the next one starts anew', async () => {
    await rig.start();
    await rig.informer.synced;
    const informers = new Informers(rig.client, { clock: rig.clock });
    const running = informers.run(rig.stop.signal);
    const ended = [informers.for(WIDGETS), informers.for(WIDGETS, { labelSelector: 'a=b' })];
    await informers.synced();
    await rig.soon(() => rig.server.watchers === 3);
    informers.end(rig.informer);
    for (const each of ended) informers.end(each);
    await rig.soon(() => rig.server.watchers === 1);
    const next = informers.for(WIDGETS);
    expect(ended).not.toContain(next);
    rig.server.put('later');
    const later = (informer: Informer): boolean =>
      informer.cache.list().some(({ metadata }) => metadata.name === 'later');
    await rig.soon(() => later(next));
    expect(ended.some(later)).toBe(false);
    rig.stop.abort();
    await running;
  });
});

describe('informer against a hostile server', () => {
  const name = fc.constantFrom('a', 'b');
  const fault = fc.constantFrom(
    'drop',
    'end',
    'compact',
    'freeze',
    'bookmark',
    'fail',
    'gone',
    'swap',
    'copy',
  );
  const step = fc.oneof(
    { weight: 6, arbitrary: fc.record({ do: fc.constant('catch up' as const) }) },
    { weight: 8, arbitrary: fc.record({ do: fc.constant('put' as const), name, value: fc.nat(3) }) },
    { weight: 8, arbitrary: fc.record({ do: fc.constant('remove' as const), name }) },
    { weight: 6, arbitrary: fc.record({ do: fault }) },
  );
  type Step = typeof step extends fc.Arbitrary<infer S> ? S : never;

  async function perform(rig: Rig, step: Step): Promise<void> {
    const { server } = rig;
    switch (step.do) {
      case 'put':
        return void server.put(step.name, { value: step.value });
      case 'remove':
        return server.remove(step.name);
      case 'drop':
        return server.drop();
      case 'end':
        return server.end();
      case 'compact':
        return server.compact();
      case 'freeze':
        return server.freeze();
      case 'bookmark':
        return server.bookmark();
      case 'fail':
        return server.failNext({ code: 503 });
      case 'gone':
        return server.sendError(410, 'Expired');
      case 'swap':
        server.swapping = !server.swapping;
        return;
      case 'copy':
        server.copies = 3 - server.copies;
        return;
      case 'catch up':
        await catchUp(rig);
    }
  }

  /** The last change arrives last: once it has arrived, nothing else is pending. */
  async function catchUp({ server, informer, until }: Rig): Promise<void> {
    server.flush();
    const { swapping } = server;
    server.swapping = false;
    const { metadata } = server.put('last', { value: 0 });
    server.swapping = swapping;
    const seen = (): string | undefined => informer.cache.get('default/last')?.metadata.resourceVersion;
    await until(() => seen() === metadata.resourceVersion);
  }

  it.each([true, false])(
    'ends up equal to it, and so does the story its events tell (WatchList: %s)',
    async (watchList) => {
      await fc.assert(
        fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 30 }), async (steps) => {
          const rig = await new Rig().start({ watchList });
          const told = new Map<string, KubeObject>();
          rig.informer.addIndex('value', (o) => [String(o.value)]);
          rig.informer.addHandler({
            onAdd: (o) => {
              expect(told.has(o.metadata.name!)).toBe(false);
              told.set(o.metadata.name!, o);
            },
            onUpdate: (old, o) => {
              expect(told.get(o.metadata.name!)).toBe(old);
              told.set(o.metadata.name!, o);
            },
            onDelete: (o) => expect(told.delete(o.metadata.name!)).toBe(true),
          });
          try {
            for (const s of steps) await perform(rig, s);
            await catchUp(rig);
            const wanted = contents(rig.server.objects.values());
            expect(contents(rig.informer.cache.list())).toEqual(wanted);
            expect(Object.fromEntries(told)).toEqual(wanted);
            expect(rig.reported).toEqual([]);
            for (const value of ['0', '1', '2', '3']) {
              const indexed = rig.informer.cache.byIndex('value', value).map((o) => o.metadata.name);
              const expected = Object.values(wanted).filter((o) => String(o.value) === value);
              expect(indexed.sort()).toEqual(expected.map((o) => o.metadata.name).sort());
            }
          } finally {
            await rig.end();
          }
        }),
        { numRuns: 25 },
      );
    },
  );
});
