import type { IngressClass, KubeObject } from '@tidegate/kube';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { L7Router, YurtIngress } from '../api/index.ts';
import { nextStep, type Step } from './next-step.ts';
import { holderOf, type Observed } from './observed.ts';
import { madeFor, namespace, observed, yurtIngress } from './testing/objects.ts';

const POOLS = [{ name: 'hangzhou' }];
const doors = yurtIngress('doors', { pools: POOLS });
const upstream = yurtIngress('doors', {
  pools: POOLS,
  ingress_controller_flavor: 'ingress-nginx',
});

const text = (step: Step): string => (step.do === 'nothing' ? 'nothing' : `${step.do} ${step.object.kind}`);
const leaving = <T extends KubeObject>(object: T): T => ({
  ...object,
  metadata: { ...object.metadata, deletionTimestamp: '2026-01-01T00:00:00Z' },
});
const foreign = <T extends KubeObject>(object: T): T => ({
  ...object,
  metadata: { name: object.metadata.name },
});

describe('the next step', () => {
  const made = madeFor(doors);

  it.each<[string, Partial<Observed>, string]>([
    ['creates the namespace first', { claimants: [doors], namespace: undefined }, 'create Namespace'],
    ['then creates the router', { claimants: [doors] }, 'create L7Router'],
    [
      'creates the class only when the router exists',
      { claimants: [doors], router: made.router },
      'create IngressClass',
    ],
    ['does nothing when both exist', { claimants: [doors], ...made }, 'nothing'],
    [
      'waits for a namespace that is being deleted',
      { claimants: [doors], namespace: leaving(namespace) },
      'nothing',
    ],
    [
      'waits for a router that is being deleted',
      { claimants: [doors], router: leaving(made.router) },
      'nothing',
    ],
    ['creates nothing for a pool that does not exist', { claimants: [doors], exists: false }, 'nothing'],
    ['deletes the class first', made, 'delete IngressClass'],
    ['waits until the class is gone', { ...made, ingressClass: leaving(made.ingressClass) }, 'nothing'],
    ['then deletes the router', { router: made.router }, 'delete L7Router'],
    ['waits until the router is gone', { router: leaving(made.router) }, 'nothing'],
    [
      'deletes a class whose controller must change',
      { claimants: [upstream], ...madeFor(upstream), ingressClass: made.ingressClass },
      'delete IngressClass',
    ],
    ['updates the router before the class', { claimants: [upstream], ...made }, 'update L7Router'],
  ])('%s', (_, more, expected) => {
    expect(text(nextStep(observed(more)))).toBe(expected);
  });

  it.each<[string, Partial<Observed>]>([
    ['a router', { router: foreign(made.router) }],
    ['a class', { ingressClass: foreign(made.ingressClass) }],
    ['a class next to our router', { router: made.router, ingressClass: foreign(made.ingressClass) }],
  ])('never changes %s that is not part of a front door', (_, more) => {
    expect(text(nextStep(observed({ claimants: [doors], ...more })))).toBe('nothing');
    const step = nextStep(observed(more));
    if (step.do !== 'nothing') expect(holderOf(step.object)).toBe('doors');
  });

  it('corrects changed fields, and keeps labels and annotations of others', () => {
    const { metadata, spec } = made.router;
    const annotations = { note: 'mine' };
    const router: L7Router = {
      ...made.router,
      metadata: { ...metadata, annotations, labels: { team: 'web' } },
      spec: { ...spec, hosts: ['a.example.com'], workload: { replicas: 7 } },
    };
    const step = nextStep(observed({ claimants: [doors], ...made, router }));
    const corrected = {
      ...made.router,
      metadata: { ...metadata, annotations, labels: { ...metadata.labels, team: 'web' } },
    };
    expect(step).toEqual({ do: 'update', resource: expect.anything(), object: corrected });
  });

  it('gives a pool with two claimants to the current holder, otherwise to the oldest', () => {
    const older = yurtIngress('older', { pools: POOLS }, 60);
    const claimants = [doors, older];
    expect(text(nextStep(observed({ claimants, ...made })))).toBe('nothing');
    const step = nextStep(observed({ claimants }));
    expect(step.do !== 'nothing' && holderOf(step.object)).toBe('older');
  });

  it('updates a front door in place when its owner changes', () => {
    const other = yurtIngress('other', { pools: POOLS });
    const step = nextStep(observed({ claimants: [other], ...made }));
    expect(text(step)).toBe('update L7Router');
    expect(step.do !== 'nothing' && holderOf(step.object)).toBe('other');
  });
});

/** Applies a step to the observed state, as the API server would. */
function follow(step: Step, state: Observed): Observed {
  if (step.do === 'nothing') return state;
  const field =
    { Namespace: 'namespace', L7Router: 'router', IngressClass: 'ingressClass' }[step.object.kind] ?? '';
  return { ...state, [field]: step.do === 'delete' ? undefined : step.object };
}

describe('from any initial state', () => {
  const any = fc.record({
    claimants: fc.subarray([
      doors,
      yurtIngress('other', { pools: POOLS, ingressControllerImage: 'x/nginx-ingress-controller' }, 9),
    ]),
    holder: fc.constantFrom<YurtIngress | undefined>(doors, upstream, yurtIngress('gone'), undefined),
    hasRouter: fc.boolean(),
    hasClass: fc.boolean(),
    hasNamespace: fc.boolean(),
  });

  it('reaches the wanted state in a few steps, and deletes everything without claimants', () => {
    fc.assert(
      fc.property(any, ({ claimants, holder, hasRouter, hasClass, hasNamespace }) => {
        const made = holder === undefined ? undefined : madeFor(holder);
        let state = observed({
          claimants,
          router: hasRouter ? made?.router : undefined,
          ingressClass: hasClass ? made?.ingressClass : undefined,
          namespace: hasNamespace ? namespace : undefined,
        });
        let steps = 0;
        for (let step = nextStep(state); step.do !== 'nothing'; step = nextStep(state)) {
          const before = state;
          state = follow(step, state);
          expect(++steps).toBeLessThan(6);
          // A class of a front door never exists without its router: host placement would create another one.
          if (before.router !== undefined)
            expect(state.ingressClass === undefined || state.router !== undefined).toBe(true);
        }
        const wanted = claimants.length > 0;
        expect([state.router, state.ingressClass].map(isOf)).toEqual(
          wanted ? ['claimant', 'claimant'] : ['none', 'none'],
        );

        function isOf(object: L7Router | IngressClass | undefined): string {
          if (object === undefined) return 'none';
          return claimants.some(({ metadata }) => metadata.name === holderOf(object))
            ? 'claimant'
            : 'stranger';
        }
      }),
    );
  });
});
