import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { answerOf } from '../testing/answer.ts';
import { anyRequest, anyRoutes, expected, OPTIONS } from '../testing/routes.ts';
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
});
