import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { answerOf } from '../testing/answer.ts';
import {
  anyRequest,
  anyRoutes,
  expected,
  host,
  OPTIONS,
  route,
  routesOf,
  upstream,
} from '../testing/routes.ts';
import { applyStep, EMPTY, type Observed, plan, type Routes, type Step, wantedOf } from './index.ts';

const wanted = (routes: Routes) => wantedOf(routes, OPTIONS).wanted;
const stepsTo = (state: Observed, routes: Routes): Step[] => plan(state, wanted(routes));

let made = 0;
const applied = (state: Observed, steps: readonly Step[]): Observed =>
  steps.reduce((before, step) => applyStep(before, step, `id-${++made}`), state);
const built = (routes: Routes): Observed => applied(EMPTY, stepsTo(EMPTY, routes));

/** Routes without HTTPS have no listener for it: all answers over HTTPS are the same then. */
const isServed = (routes: Routes, secure: boolean): boolean =>
  !secure || wanted(routes).listeners.has('https');

describe('a plan', () => {
  test('leads to what the reference matcher answers', () => {
    fc.assert(
      fc.property(anyRoutes, fc.array(anyRequest, { minLength: 10 }), (routes, requests) => {
        const state = built(routes);
        for (const request of requests)
          if (isServed(routes, request.secure))
            expect(answerOf(state, request)).toBe(expected(routes, request));
      }),
      { numRuns: 100 },
    );
  });

  test('is empty when everything is as wanted', () => {
    fc.assert(
      fc.property(anyRoutes, (routes) => {
        expect(stepsTo(built(routes), routes)).toEqual([]);
      }),
      { numRuns: 100 },
    );
  });

  test('gives each request the old or the new answer after every single call', () => {
    fc.assert(
      fc.property(
        anyRoutes,
        anyRoutes,
        fc.array(anyRequest, { minLength: 8, maxLength: 12 }),
        (old, next, requests) => {
          const start = built(old);
          const steps = stepsTo(start, next);
          const end = applied(start, steps);
          let state = start;
          for (const step of steps) {
            state = applyStep(state, step, `id-${++made}`);
            for (const request of requests) {
              const allowed = [answerOf(start, request), answerOf(end, request)];
              expect(allowed, `${JSON.stringify(request)} after ${JSON.stringify(step)}`).toContain(
                answerOf(state, request),
              );
            }
          }
          expect(stepsTo(state, next)).toEqual([]);
        },
      ),
      { numRuns: 100 },
    );
  });

  test('continues from any call, also to other routes', () => {
    fc.assert(
      fc.property(
        fc.tuple(anyRoutes, anyRoutes, anyRoutes),
        fc.double({ min: 0, max: 1, noNaN: true }),
        fc.array(anyRequest, { minLength: 8, maxLength: 12 }),
        ([old, next, last], part, requests) => {
          const start = built(old);
          const first = stepsTo(start, next);
          const stopped = applied(start, first.slice(0, Math.floor(part * first.length)));
          const steps = stepsTo(stopped, last);
          const end = applied(stopped, steps);
          let state = stopped;
          for (const step of steps) {
            state = applyStep(state, step, `id-${++made}`);
            for (const request of requests)
              expect([answerOf(stopped, request), answerOf(end, request)]).toContain(
                answerOf(state, request),
              );
          }
          for (const request of requests)
            if (isServed(last, request.secure))
              expect(answerOf(state, request)).toBe(expected(last, request));
          expect(stepsTo(state, last)).toEqual([]);
        },
      ),
      { numRuns: 100 },
    );
  });

  test.each([10, 1_000])('has only the calls that a change needs, with %i rules', (rules) => {
    const paths = ['/', ...Array.from({ length: 9 }, (_, at) => `/path-${at}`)];
    const names = Array.from({ length: rules / 10 }, (_, at) => `h${at}`);
    const hostWith = (name: string, ...more: string[]) =>
      host(
        `${name}.io`,
        [...paths, ...more].map((path) => route(path, name)),
      );
    const hosts = names.map((name) => hostWith(name));
    const upstreams = names.map((name) => upstream(name, 80));
    const start = built(routesOf(hosts, upstreams));
    const calls = (newHosts: typeof hosts, newUpstreams: typeof upstreams) =>
      stepsTo(start, routesOf(newHosts, newUpstreams)).map(({ kind }) => kind);
    expect(calls(hosts, upstreams)).toEqual([]);
    expect(calls(hosts, [upstream('h0', 81), ...upstreams.slice(1)])).toEqual(['setMembers']);
    expect(calls([hostWith('h0', '/more'), ...hosts.slice(1)], upstreams)).toEqual([
      ...['createPolicy', 'createRule', 'createRule', 'updatePolicy'],
    ]);
    const added = host('new.io', [route('/', 'new')]);
    expect(calls([...hosts, added], [...upstreams, upstream('new', 80)])).toEqual([
      ...['createBackend', 'setMembers', 'createPolicy', 'createRule'],
    ]);
    const all = applied(
      start,
      stepsTo(start, routesOf([...hosts, added], [...upstreams, upstream('new', 80)])),
    );
    expect(stepsTo(all, routesOf(hosts, upstreams)).map(({ kind }) => kind)).toEqual([
      ...['deletePolicy', 'deleteBackend'],
    ]);
  });
});
