import { VirtualClock } from '@tidegate/kube/testing';
import { expect, it } from 'vitest';
import { untilReady } from './readiness.ts';

it('reports what it waits for when that changes, and in the end what is not ready', async () => {
  const clock = new VirtualClock();
  const lines: string[] = [];
  const reporter = { step: (line: string) => void lines.push(line), note: () => {} };
  let why = 'its pod is not scheduled';
  let ready = (_name: string, _line: string): void => {};
  const waiting = untilReady({
    names: ['a', 'b'],
    wait: (onReady, signal) => {
      ready = onReady;
      return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
    },
    explain: async (name) => ({ what: `front door ${name}`, why, logs: `router ${name}` }),
    reporter,
    signal: new AbortController().signal,
    clock,
  });
  await clock.advance(20_000);
  why = 'its pod crashes';
  await clock.advance(20_000);
  ready('a', 'front door a is ready');
  await clock.advance(10_000);
  expect(lines).toEqual([
    'waiting for front door a: its pod is not scheduled',
    'waiting for front door a: its pod crashes',
    'front door a is ready',
    'waiting for front door b: its pod crashes',
  ]);
  await clock.advance(180_000);
  expect(await waiting).toEqual([{ what: 'front door b', why: 'its pod crashes', logs: 'router b' }]);
  expect(clock.pending).toBe(0);
});
