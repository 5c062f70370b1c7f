import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Container } from '../contracts.ts';
import { nextSteps } from './lifecycle.ts';
import type { ContainerRecord } from './record.ts';
import { ended, NOW, podOf, recordOf, running, type Shape, waiting } from './testing.ts';

const sidecar: Container = { name: 'side', restartPolicy: 'Always' };

interface Case {
  what: string;
  shape: Shape;
  known?: Record<string, ContainerRecord>;
  started?: boolean;
  start: string[];
  wakeInMs?: number;
}

const cases: Case[] = [
  { what: 'all containers of a new pod', shape: { main: ['a', 'b'] }, start: ['a', 'b'] },
  { what: 'the first init container only', shape: { init: ['i', 'j'] }, start: ['i'] },
  {
    what: 'nothing while an init container runs',
    shape: { init: ['i', 'j'] },
    known: { i: running },
    start: [],
  },
  { what: 'the next init container', shape: { init: ['i', 'j'] }, known: { i: ended(0) }, start: ['j'] },
  { what: 'main after init', shape: { init: ['i'] }, known: { i: ended(0) }, start: ['main'] },
  { what: 'a failed init container again', shape: { init: ['i'] }, known: { i: ended(1) }, start: ['i'] },
  {
    what: 'nothing after an init container that failed and is not restarted',
    shape: { init: ['i'], restartPolicy: 'Never' },
    known: { i: ended(1) },
    start: [],
  },
  { what: 'a container that ended once, immediately', shape: {}, known: { main: ended(1) }, start: ['main'] },
  {
    what: 'a container that ended twice, after a delay',
    shape: {},
    known: { main: ended(1, 2) },
    start: [],
    wakeInMs: 10_000,
  },
  {
    what: 'nothing that succeeded, with OnFailure',
    shape: { restartPolicy: 'OnFailure' },
    known: { main: ended(0) },
    start: [],
  },
  {
    what: 'a container that failed, with OnFailure',
    shape: { restartPolicy: 'OnFailure' },
    known: { main: ended(3) },
    start: ['main'],
  },
  {
    what: 'nothing, with Never',
    shape: { restartPolicy: 'Never' },
    known: { main: ended(3) },
    start: [],
  },
  {
    what: 'nothing before a sidecar has started',
    shape: { init: [sidecar] },
    known: { side: running },
    started: false,
    start: [],
  },
  { what: 'main next to a sidecar', shape: { init: [sidecar] }, known: { side: running }, start: ['main'] },
  {
    what: 'a sidecar that ended, with any policy',
    shape: { init: [sidecar], restartPolicy: 'Never' },
    known: { side: ended(0), main: running },
    start: ['side'],
  },
  {
    what: 'a container that the agent stopped, without a delay',
    shape: {},
    known: { main: { ...ended(1, 5), interrupted: true } },
    start: ['main'],
  },
  {
    what: 'nothing before the next attempt is due',
    shape: {},
    known: {
      main: {
        ...waiting,
        state: {
          type: 'waiting',
          failure: { reason: 'ErrImagePull', message: '', attempts: 1, at: NOW, retryAt: NOW + 7 },
        },
      },
    },
    start: [],
    wakeInMs: 7,
  },
];

test.each(cases)('starts $what', ({ shape, known, started = true, start, wakeInMs }) => {
  const steps = nextSteps(podOf(shape).spec!, recordOf(known), () => started, NOW);
  expect(steps.start.map(({ name }) => name)).toEqual(start);
  expect(steps.wakeAt).toBe(wakeInMs === undefined ? undefined : NOW + wakeInMs);
});

describe('for any state of the containers', () => {
  const state = fc.constantFrom(waiting, running, ended(0), ended(1), ended(1, 4));
  const pods = fc.record({
    init: fc.array(state, { maxLength: 3 }),
    main: fc.array(state, { minLength: 1, maxLength: 3 }),
    restartPolicy: fc.constantFrom('Always', 'OnFailure', 'Never'),
  });

  test('starts nothing that runs, nothing twice, and main never before init is done', () => {
    fc.assert(
      fc.property(pods, ({ init, main, restartPolicy }) => {
        const names = { init: init.map((_, i) => `i${i}`), main: main.map((_, i) => `m${i}`) };
        const known = Object.fromEntries([
          ...names.init.map((name, i) => [name, init[i]!]),
          ...names.main.map((name, i) => [name, main[i]!]),
        ]) as Record<string, ContainerRecord>;
        const { start } = nextSteps(
          podOf({ ...names, restartPolicy }).spec!,
          recordOf(known),
          () => true,
          NOW,
        );
        const started = start.map(({ name }) => name);
        expect(new Set(started).size).toBe(started.length);
        expect(started.filter((name) => known[name]?.state.type === 'running')).toEqual([]);
        const mainHasRun = main.some(({ containerID }) => containerID !== '');
        const initDone = init.every(({ state: s }) => s.type === 'terminated' && s.terminated.exitCode === 0);
        if (!mainHasRun && !initDone) {
          expect(started.filter((name) => names.main.includes(name))).toEqual([]);
          expect(started.length).toBeLessThanOrEqual(1);
        }
      }),
    );
  });
});
