import { describe, expect, it } from 'vitest';
import type { YurtIngress } from '../api/index.ts';
import { type DoorState, doorState, type Unready } from './door-state.ts';
import { statusOf } from './status.ts';
import { madeFor, observed, withStatus, yurtIngress } from './testing/objects.ts';

const NOW = Date.parse('2026-05-01T00:00:00Z');
const options = { defaultImage: 'tidegate', now: NOW };
const doors = yurtIngress('doors', {
  pools: [{ name: 'hangzhou' }, { name: 'beijing', ingress_ips: ['192.0.2.1'] }],
});
const made = madeFor(doors);

describe('the state of a front door', () => {
  const state = (more: Parameters<typeof observed>[0]): DoorState =>
    doorState(observed({ claimants: [doors], ...more }), 'doors');
  const short = (of: DoorState): string => (of === 'ready' ? of : `${of.type} ${of.reason}: ${of.message}`);
  const foreign = { ...made.ingressClass, metadata: { name: 'hangzhou' } };
  const other = yurtIngress('other', { pools: [{ name: 'hangzhou' }] }, 60);

  it.each<[string, Parameters<typeof observed>[0], string]>([
    ['ready', { ...made, router: withStatus(made.router, 'True') }, 'ready'],
    ['without objects', {}, 'Pending Creating: L7Router hangzhou is about to be created'],
    [
      'without a class',
      { router: made.router },
      'Pending Creating: IngressClass hangzhou is about to be created',
    ],
    [
      'without a status',
      made,
      'Pending Progressing: L7Router hangzhou is waiting for the provisioner of nginx',
    ],
    [
      'with a status of an older generation',
      {
        ...made,
        router: { ...withStatus(made.router, 'True'), metadata: { ...made.router.metadata, generation: 2 } },
      },
      'Pending Progressing: L7Router hangzhou is waiting for the provisioner of nginx',
    ],
    [
      'rolling out',
      { ...made, router: withStatus(made.router, 'False', 'RollingOut', '0 of 1 routers are ready') },
      'Pending RollingOut: 0 of 1 routers are ready',
    ],
    [
      'crashing',
      {
        ...made,
        router: withStatus(made.router, 'False', 'CrashLoopBackOff', 'pod a, container router: it ends'),
      },
      'Failure CrashLoopBackOff: pod a, container router: it ends',
    ],
    [
      'without nodes',
      { ...made, nodes: 0, router: withStatus(made.router, 'False', 'RollingOut') },
      'Pending NoNodes: pool hangzhou has no nodes',
    ],
    [
      'without a pool',
      { exists: false },
      'Failure PoolNotFound: there is no NodePool or NodeGroup hangzhou: create it, or remove it from spec.pools',
    ],
    [
      'with a class of the same name that is not part of a front door',
      { ingressClass: foreign },
      'Failure ClassTaken: IngressClass hangzhou exists and is not part of a front door: delete it, or add the label apps.openyurt.io/yurtingress=doors',
    ],
    [
      'owned by another YurtIngress',
      { claimants: [doors, other] },
      'Failure PoolTaken: pool hangzhou already has a front door of YurtIngress other: remove the pool from one of the two',
    ],
  ])('%s', (_, more, expected) => {
    expect(short(state(more))).toBe(expected);
  });
});

describe('the status of a YurtIngress', () => {
  const pending: Unready = { type: 'Pending', reason: 'Creating', message: 'soon' };
  const failing: Unready = { type: 'Failure', reason: 'ImagePullBackOff', message: 'no such image' };
  const withNewStatus = (
    object: YurtIngress,
    hangzhou: DoorState,
    beijing: DoorState,
    now = NOW,
  ): YurtIngress => ({
    ...object,
    status: statusOf(
      object,
      new Map([
        ['hangzhou', hangzhou],
        ['beijing', beijing],
      ]),
      { ...options, now },
    ),
  });
  const times = ({ status }: YurtIngress): (string | undefined)[] =>
    (status?.conditions?.unreadypools ?? []).map(({ unreadyinfo }) => unreadyinfo.lastTransitionTime);

  it('has the fields of the proposal and the condition Ready', () => {
    expect(withNewStatus(doors, 'ready', failing).status).toEqual({
      observedGeneration: 1,
      ingress_controller_replicas_per_pool: 1,
      ingress_controller_image: 'tidegate',
      ingress_webhook_certgen_image: '',
      conditions: {
        readypools: ['hangzhou'],
        unreadypools: [
          {
            pool: { name: 'beijing', ingress_ips: ['192.0.2.1'] },
            unreadyinfo: { ...failing, lastTransitionTime: '2026-05-01T00:00:00Z' },
          },
        ],
      },
      readyNum: 1,
      unreadyNum: 1,
      readiness: [
        {
          type: 'Ready',
          status: 'False',
          reason: 'ImagePullBackOff',
          message: 'beijing: no such image',
          observedGeneration: 1,
          lastTransitionTime: '2026-05-01T00:00:00Z',
        },
      ],
    });
    expect(withNewStatus(doors, 'ready', 'ready').status?.readiness).toMatchObject([
      { status: 'True', reason: 'FrontDoorsReady' },
    ]);
    expect(withNewStatus(doors, pending, failing).status?.readiness).toMatchObject([
      { reason: 'ImagePullBackOff' },
    ]);
  });

  it('keeps the transition time until the type changes', () => {
    const first = withNewStatus(doors, pending, failing);
    const later = withNewStatus(first, { ...pending, reason: 'RollingOut' }, failing, NOW + 60_000);
    expect(times(later)).toEqual(['2026-05-01T00:00:00Z', '2026-05-01T00:00:00Z']);
    expect(times(withNewStatus(later, failing, failing, NOW + 90_000))).toEqual([
      '2026-05-01T00:01:30Z',
      '2026-05-01T00:00:00Z',
    ]);
  });
});
