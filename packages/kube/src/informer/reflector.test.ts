import { setTimeout as realSleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { silentLogger } from '../base/log.ts';
import { KubeClient } from '../client/client.ts';
import { isForbidden } from '../client/errors.ts';
import { FakeServer, WIDGETS } from '../testing/fake-server.ts';
import { SwitchedConnection } from '../testing/switched-connection.ts';
import { VirtualClock } from '../testing/virtual-clock.ts';
import { Reflector, type ReflectorOptions } from './reflector.ts';

describe('a reflector', () => {
  const server = { current: new FakeServer() };
  const clock = { current: new VirtualClock() };
  let client: KubeClient;
  let stop: AbortController;
  let story: string[];
  let running: Promise<unknown>;

  beforeEach(async () => {
    server.current = new FakeServer();
    clock.current = new VirtualClock();
    client = new KubeClient(await server.current.start());
    stop = new AbortController();
    story = [];
    running = Promise.resolve();
  });
  afterEach(async () => {
    stop.abort();
    await running;
    expect(clock.current.pending).toBe(0);
    await client.close();
    await server.current.stop();
  });

  function start(options: Partial<ReflectorOptions<string>>): Promise<unknown> {
    const mirror = {
      keep: (object: { metadata: { name?: string } }) => `${object.metadata.name}`,
      replace: (state: string[], version: string, kind: string) =>
        story.push(`${kind} ${version}: ${state.join()}`),
      apply: (type: string, name: string) => story.push(`${type} ${name}`),
      bookmark: (version: string) => story.push(`bookmark ${version}`),
    };
    const always = { select: {}, clock: clock.current, random: () => 0.5, log: silentLogger };
    const reflector = new Reflector(client, WIDGETS, mirror, { ...always, ...options });
    running = reflector.run(stop.signal).catch((error) => error);
    return running;
  }

  async function until(condition: () => boolean, stepMs = 0): Promise<void> {
    for (let i = 0; !condition(); i++) {
      if (i === 2_000) throw new Error(`it never happened; so far: ${story.join('; ')}`);
      await realSleep(1);
      await clock.current.advance(stepMs);
    }
  }

  it('resumes from a stored version without fetching the state', async () => {
    server.current.put('a');
    server.current.put('b');
    start({ resumeFrom: '101' });
    await until(() => story.length === 1);
    server.current.bookmark();
    await until(() => story.length === 2);
    expect(story).toEqual(['ADDED b', 'bookmark 102']);
    expect(server.current.requests).toHaveLength(1);
  });

  it('lists if configured to, and reports the kind of the list', async () => {
    server.current.put('a');
    start({ initialState: 'list' });
    await until(() => server.current.watchers === 1);
    expect(story).toEqual(['WidgetList 101: a']);
    expect(server.current.requests.some((r) => r.url.searchParams.has('sendInitialEvents'))).toBe(false);
  });

  it.each(['stream', 'list'] as const)('fetches a %s again if it is not confirmed', async (initialState) => {
    server.current.put('a');
    const answers = [false, false, true];
    start({ initialState, confirm: async () => answers.shift() ?? true });
    await until(() => story.length > 0, 1_000);
    expect(answers).toEqual([]);
    expect(story).toEqual(['WidgetList 101: a']);
  });

  it('tries nothing while the connection is offline, and everything when it is back', async () => {
    const connection = new SwitchedConnection();
    connection.online = false;
    server.current.put('a');
    start({ connection });
    await clock.current.advance(600_000);
    expect(server.current.requests).toEqual([]);
    connection.turn(true);
    await until(() => story.length === 1);
    connection.turn(false);
    server.current.drop();
    await realSleep(10);
    await clock.current.advance(600_000);
    expect(server.current.requests).toHaveLength(1);
    server.current.put('b');
    connection.turn(true);
    await until(() => story.length === 2);
    expect(story[1]).toBe('ADDED b');
    stop.abort();
    await running;
    expect(connection.listeners).toBe(0);
  });

  it('cancels its backoff when the connection comes back', async () => {
    const connection = new SwitchedConnection();
    for (let i = 0; i < 3; i++) server.current.failNext({ code: 500 });
    server.current.put('a');
    start({ connection });
    await until(() => server.current.requests.length === 3, 1_000);
    await realSleep(10);
    connection.turn(false);
    connection.turn(true);
    await until(() => story.length === 1);
  });

  it('retries an unreachable server within five seconds', async () => {
    const phases: string[] = [];
    server.current.intercept = (_, response) => {
      if (!down) return false;
      response.destroy();
      return true;
    };
    let down = true;
    await client.close();
    client = new KubeClient(client.config, { maxRetries: 0 });
    start({ onPhase: (phase) => phases.push(phase) });
    for (let i = 0; i < 12; i++) {
      const before = server.current.requests.length;
      await until(() => server.current.requests.length > before, 1_000);
    }
    await realSleep(10);
    down = false;
    await clock.current.advance(5_000);
    await until(() => story.length === 1);
    expect(phases.at(-1)).toBe('watching');
    expect(phases.slice(0, 3)).toEqual(['listing', 'waiting', 'listing']);
  });

  it('fetches the state immediately when its version has expired after a long disconnect', async () => {
    server.current.put('a');
    start({ initialState: 'list' });
    await until(() => server.current.watchers === 1);
    for (let i = 0; i < 8; i++) server.current.failNext({ code: 503 });
    server.current.put('b');
    server.current.compact();
    server.current.drop();
    await until(() => server.current.requests.length === 11, 1_000);
    await until(() => story.at(-1) === 'WidgetList 102: a,b');
  });

  it('detects that the server was restored from a backup', async () => {
    for (const name of ['a', 'b', 'c']) server.current.put(name);
    start({ initialState: 'list' });
    await until(() => server.current.watchers === 1);
    server.current.restore(101);
    server.current.drop();
    await until(() => story.length === 2, 10_000);
    expect(story).toEqual(['WidgetList 103: a,b,c', 'WidgetList 101: a']);
  });

  it('keeps watching a quiet server that was not restored', async () => {
    server.current.put('a');
    start({ resumeFrom: '101' });
    await until(() => server.current.watchers === 1);
    await clock.current.advance(90_000);
    await until(() => server.current.requests.length === 2);
    await clock.current.advance(300_000);
    expect(story).toEqual([]);
    expect(server.current.requests).toHaveLength(2);
  });

  it('rejects with a final error', async () => {
    server.current.failNext({ code: 403 });
    const outcome = await start({ isFinal: isForbidden });
    expect(isForbidden(outcome)).toBe(true);
  });
});
