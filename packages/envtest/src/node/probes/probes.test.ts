import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { VirtualClock } from '@tidegate/kube/testing';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Inside } from '../contracts.ts';
import { type CheckOutcome, check } from './check.ts';
import { ContainerProbes } from './container-probes.ts';
import { Probe } from './probe.ts';
import { afterOutcome, initialState, type ProbeKind } from './result.ts';

describe('the result of a probe', () => {
  test.each<[ProbeKind, boolean[], string]>([
    ['Readiness', [], 'failure'],
    ['Liveness', [], 'success'],
    ['Startup', [], 'unknown'],
    ['Readiness', [true], 'failure'],
    ['Readiness', [true, true], 'success'],
    ['Readiness', [true, true, false, false], 'success'],
    ['Readiness', [true, true, false, false, false], 'failure'],
    ['Liveness', [false, false, true, false, false], 'success'],
    ['Startup', [false, false, false], 'failure'],
  ])('for %s after %j is %s', (kind, outcomes, result) => {
    const thresholds = { successThreshold: 2, failureThreshold: 3 };
    const end = outcomes.reduce((state, ok) => afterOutcome(state, ok, thresholds), initialState(kind));
    expect(end.result).toBe(result);
  });

  test('never changes on fewer equal outcomes than its threshold', () => {
    const thresholds = fc.record({
      successThreshold: fc.integer({ min: 1, max: 4 }),
      failureThreshold: fc.integer({ min: 1, max: 4 }),
    });
    fc.assert(
      fc.property(thresholds, fc.array(fc.boolean()), (given, outcomes) => {
        let state = initialState('Readiness');
        outcomes.forEach((ok, i) => {
          const before = state.result;
          state = afterOutcome(state, ok, given);
          if (state.result === before) return;
          const needed = ok ? given.successThreshold : given.failureThreshold;
          expect(outcomes.slice(i + 1 - needed, i + 1)).toEqual(Array(needed).fill(ok));
        });
      }),
    );
  });
});

test('a probe waits for its delay, keeps its period, and stops when it is closed', async () => {
  const clock = new VirtualClock();
  const outcomes: CheckOutcome[] = [];
  const results: string[] = [];
  const begin = clock.monotonic();
  const asked: number[] = [];
  const probe: Probe = new Probe({
    kind: 'Readiness',
    timing: { initialDelaySeconds: 5, periodSeconds: 2, failureThreshold: 2 },
    runningMs: 1_000,
    check: async () => {
      asked.push(clock.monotonic() - begin);
      return outcomes.shift() ?? { ok: false, output: 'no' };
    },
    onFailure: () => {},
    onResultChange: () => results.push(probe.result),
    clock,
  });
  outcomes.push({ ok: true, output: '' });
  await clock.advance(8_500);
  expect(asked).toEqual([4_000, 6_000, 8_000]);
  expect(results).toEqual(['success', 'failure']);
  probe.close();
  expect(clock.pending).toBe(0);
});

describe('a check', () => {
  let server: Server;
  let port: number;
  beforeAll(async () => {
    server = createServer((request, response) => {
      if (request.url === '/slow') return;
      response.statusCode = request.headers['x-code'] === undefined ? 204 : Number(request.headers['x-code']);
      response.end();
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    port = (server.address() as AddressInfo).port;
  });
  afterAll(() => {
    server.closeAllConnections();
    server.close();
  });

  const look = (handler: Parameters<typeof check>[0], timeoutMs = 5_000) =>
    check(handler, {
      container: { name: 'c', ports: [{ name: 'web', containerPort: port }] },
      podIP: '127.0.0.1',
      timeoutMs,
    });

  test('uses HTTP, with a named port and headers', async () => {
    expect(await look({ httpGet: { port: 'web', path: '/' } })).toEqual({ ok: true, output: '' });
    const httpHeaders = [{ name: 'X-Code', value: '503' }];
    expect(await look({ httpGet: { port, httpHeaders } })).toEqual({
      ok: false,
      output: 'HTTP probe failed with statuscode: 503',
    });
  });

  test('fails after its timeout', async () => {
    expect(await look({ httpGet: { port, path: '/slow' } }, 20)).toEqual({
      ok: false,
      output: `Get "http://127.0.0.1:${port}/slow": context deadline exceeded`,
    });
  });

  test('uses TCP', async () => {
    expect(await look({ tcpSocket: { port } })).toEqual({ ok: true, output: '' });
    expect(await look({ tcpSocket: { port: 1 } })).toEqual({
      ok: false,
      output: 'dial tcp 127.0.0.1:1: connect: connection refused',
    });
  });

  test('fails for an unknown port name', async () => {
    expect(await look({ tcpSocket: { port: 'other' } })).toEqual({
      ok: false,
      output: 'couldn\'t find port: "other"',
    });
  });

  test('passes when only a command inside the container could run it', async () => {
    expect((await look({ exec: { command: ['true'] } })).ok).toBe(true);
  });

  test('runs a command in the container, and fails with its output or after its timeout', async () => {
    const inside: Inside = {
      run: (command) => ({ command, env: { PATH: process.env.PATH ?? '' }, cwd: '/' }),
    };
    const run = (words: string[], timeoutMs = 60_000) =>
      check({ exec: { command: words } }, { container: { name: 'c' }, podIP: '', inside, timeoutMs });
    expect((await run(['true'])).ok).toBe(true);
    expect(await run(['sh', '-c', 'echo not yet; exit 3'])).toEqual({ ok: false, output: 'not yet\n' });
    expect(await run(['no-such-program'])).toMatchObject({ ok: false });
    expect(await run(['sleep', '600'], 50)).toEqual({
      ok: false,
      output: 'command timed out: "sleep 600" timed out after 0.05s',
    });
  });
});

test('a container has not started while another program has its port on all addresses', async () => {
  const server = createServer((_, response) => response.end());
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const clock = new VirtualClock();
  const taken = new Set([port]);
  let looks = 0;
  const probes = new ContainerProbes({
    container: { name: 'web' },
    podIP: '127.0.0.1',
    startedAt: clock.now(),
    listensOn: port,
    wildcardPorts: () => {
      looks += 1;
      return taken;
    },
    clock,
    onChange: () => {},
    onUnhealthy: () => {},
    onNotRun: () => {},
  });
  const later = async <T>(look: () => T): Promise<T> => {
    await clock.advance(100);
    return look();
  };
  await expect.poll(() => later(() => looks)).toBeGreaterThan(1);
  expect(probes.ready).toBe(false);
  taken.clear();
  await expect.poll(() => later(() => probes.ready)).toBe(true);
  probes.close();
  server.close();
});
