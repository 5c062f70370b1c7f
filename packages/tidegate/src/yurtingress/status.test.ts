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
    ['to be made', {}, 'Pending Creating: L7Router hangzhou is about to be made'],
    ['half made', { router: made.router }, 'Pending Creating: IngressClass hangzhou is about to be made'],
    [
      'nobody has looked at it',
      made,
      'Pending Progressing: L7Router hangzhou waits for the provisioner of nginx',
    ],
    [
      'it was looked at before it changed',
      {
        ...made,
        router: { ...withStatus(made.router, 'True'), metadata: { ...made.router.metadata, generation: 2 } },
      },
      'Pending Progressing: L7Router hangzhou waits for the provisioner of nginx',
    ],
    [
      'slow',
      { ...made, router: withStatus(made.router, 'False', 'RollingOut', '0 of 1 routers are ready') },
      'Pending RollingOut: 0 of 1 routers are ready',
    ],
    [
      'broken',
      {
        ...made,
        router: withStatus(made.router, 'False', 'CrashLoopBackOff', 'pod a, container router: it ends'),
      },
      'Failure CrashLoopBackOff: pod a, container router: it ends',
    ],
    [
      'no nodes',
      { ...made, nodes: 0, router: withStatus(made.router, 'False', 'RollingOut') },
      'Pending NoNodes: no node is in pool hangzhou',
    ],
    [
      'no pool',
      { exists: false },
      'Failure PoolNotFound: there is no NodePool or NodeGroup hangzhou: make it, or take it out of the spec',
    ],
    [
      'a class of the same name',
      { ingressClass: foreign },
      'Failure ClassTaken: IngressClass hangzhou exists already and is no front door: delete it, or hand it over with the label apps.openyurt.io/yurtingress=doors',
    ],
    [
      "another's",
      { claimants: [doors, other] },
      'Failure PoolTaken: pool hangzhou has its front door from YurtIngress other: take the pool out of one of the two',
    ],
  ])('%s', (_, more, expected) => {
    expect(short(state(more))).toBe(expected);
  });
});

describe('the status of a YurtIngress', () => {
  const pending: Unready = { type: 'Pending', reason: 'Creating', message: 'soon' };
  const failing: Unready = { type: 'Failure', reason: 'ImagePullBackOff', message: 'no such image' };
  const told = (object: YurtIngress, hangzhou: DoorState, beijing: DoorState, now = NOW): YurtIngress => ({
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

  it('has what the proposal says, and whether all are ready', () => {
    expect(told(doors, 'ready', failing).status).toEqual({
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
    expect(told(doors, 'ready', 'ready').status?.readiness).toMatchObject([
      { status: 'True', reason: 'FrontDoorsReady' },
    ]);
    expect(told(doors, pending, failing).status?.readiness).toMatchObject([{ reason: 'ImagePullBackOff' }]);
  });

  it('keeps the time of a change until there is another', () => {
    const first = told(doors, pending, failing);
    const later = told(first, { ...pending, reason: 'RollingOut' }, failing, NOW + 60_000);
    expect(times(later)).toEqual(['2026-05-01T00:00:00Z', '2026-05-01T00:00:00Z']);
    expect(times(told(later, failing, failing, NOW + 90_000))).toEqual([
      '2026-05-01T00:01:30Z',
      '2026-05-01T00:00:00Z',
    ]);
  });
});
