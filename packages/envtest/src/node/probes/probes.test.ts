import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { VirtualClock } from '@tidegate/kube/testing';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { check, type Outcome } from './check.ts';
import { Probe } from './probe.ts';
import { afterOutcome, initialState, type ProbeKind } from './result.ts';

describe('a verdict', () => {
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
  ])('of %s after %j is %s', (kind, outcomes, verdict) => {
    const thresholds = { successThreshold: 2, failureThreshold: 3 };
    const end = outcomes.reduce((state, ok) => afterOutcome(state, ok, thresholds), initialState(kind));
    expect(end.verdict).toBe(verdict);
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
          const before = state.verdict;
          state = afterOutcome(state, ok, given);
          if (state.verdict === before) return;
          const needed = ok ? given.successThreshold : given.failureThreshold;
          expect(outcomes.slice(i + 1 - needed, i + 1)).toEqual(Array(needed).fill(ok));
        });
      }),
    );
  });
});

test('a probe waits its delay, keeps its rhythm, and stops when it is closed', async () => {
  const clock = new VirtualClock();
  const outcomes: Outcome[] = [];
  const verdicts: string[] = [];
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
    onVerdict: () => verdicts.push(probe.verdict),
    clock,
  });
  outcomes.push({ ok: true, output: '' });
  await clock.advance(8_500);
  expect(asked).toEqual([4_000, 6_000, 8_000]);
  expect(verdicts).toEqual(['success', 'failure']);
  probe.close();
  expect(clock.pending).toBe(0);
});

describe('a look at a container', () => {
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
    check(handler, { name: 'c', ports: [{ name: 'web', containerPort: port }] }, '127.0.0.1', timeoutMs);

  test('by HTTP, on a port by its name, with headers', async () => {
    expect(await look({ httpGet: { port: 'web', path: '/' } })).toEqual({ ok: true, output: '' });
    const httpHeaders = [{ name: 'X-Code', value: '503' }];
    expect(await look({ httpGet: { port, httpHeaders } })).toEqual({
      ok: false,
      output: 'HTTP probe failed with statuscode: 503',
    });
  });

  test('gives up after its timeout', async () => {
    expect(await look({ httpGet: { port, path: '/slow' } }, 20)).toEqual({
      ok: false,
      output: `Get "http://127.0.0.1:${port}/slow": context deadline exceeded`,
    });
  });

  test('by TCP', async () => {
    expect(await look({ tcpSocket: { port } })).toEqual({ ok: true, output: '' });
    expect(await look({ tcpSocket: { port: 1 } })).toEqual({
      ok: false,
      output: 'dial tcp 127.0.0.1:1: connect: connection refused',
    });
  });

  test('of a port that nobody named fails', async () => {
    expect(await look({ tcpSocket: { port: 'other' } })).toEqual({
      ok: false,
      output: 'couldn\'t find port: "other"',
    });
  });

  test('that only a command inside could take passes', async () => {
    expect((await look({ exec: { command: ['true'] } })).ok).toBe(true);
  });
});
