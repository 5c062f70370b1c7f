/** RoutePolicies and ClusterRoutePolicies, with the controllers of the manager and an embedded API server. */
import { Applier, type KubeObject, ROLES } from '@tidegate/kube';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import {
  type AttachedPolicy,
  CLUSTER_ROUTE_POLICIES,
  L7_ROUTERS,
  ROUTE_POLICIES,
} from '../../packages/tidegate/src/api/index.ts';
import { PolicyIndex } from '../../packages/tidegate/src/ingress/attached-policies/index.ts';
import { attachedPolicy } from '../../packages/tidegate/src/ingress/testing/objects.ts';
import { IngressWorld, ingressObject } from './support.ts';

let world: IngressWorld;
beforeAll(async () => {
  world = await IngressWorld.start();
  await world.make({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'platform' } });
});
afterEach(async () => {
  await world.client.deleteCollection(CLUSTER_ROUTE_POLICIES);
  for (const namespace of ['shop', 'rival'])
    await world.client.deleteCollection(ROUTE_POLICIES, { namespace });
  await world.clear();
});
afterAll(async () => {
  await world.stop();
  expect(world.errors).toEqual([]);
});

const CLASS_TARGET = { targetRefs: [{ kind: 'IngressClass' as const, name: 'gold' }] };
const OWN = { namespace: 'shop' };

const make = (
  name: string,
  where: { namespace?: string },
  spec: AttachedPolicy['spec'],
): Promise<AttachedPolicy> => {
  const { apiVersion, kind, metadata } = attachedPolicy({ name, ...where }, spec);
  const own = { name: `${metadata.name}`, ...where };
  const resource = where.namespace === undefined ? CLUSTER_ROUTE_POLICIES : ROUTE_POLICIES;
  return world.client.create(resource, { apiVersion, kind, metadata: own, spec });
};
const refusal = (attempt: Promise<unknown>): Promise<string> =>
  attempt.then(
    () => expect.unreachable('the API server accepted the policy'),
    (error: Error) => error.message,
  );
const read = (name: string, namespace?: string): Promise<AttachedPolicy> =>
  world.client.get(namespace === undefined ? CLUSTER_ROUTE_POLICIES : ROUTE_POLICIES, { name, namespace });
/** `Accepted: True Accepted` of each condition, and of each target. */
const statusOf = async (name: string, namespace?: string): Promise<string[]> => {
  const { status } = await read(name, namespace);
  const all = [
    ...(status?.conditions ?? []).map((each) => ({ where: '', ...each })),
    ...(status?.targets ?? []).flatMap(({ kind, name: target, conditions }) =>
      conditions.map((each) => ({ where: `${kind} ${target} `, ...each })),
    ),
  ];
  return all.map(({ where, type, status: is, reason }) => `${where}${type}: ${is} ${reason}`);
};
const statusIs = (name: string, namespace: string | undefined, expected: string[]): Promise<void> =>
  expect.poll(() => statusOf(name, namespace), { interval: 20 }).toEqual(expected);

describe('the API server', () => {
  it('rejects values that the schema does not allow, and names the field', async () => {
    const attempts: [{ namespace?: string }, AttachedPolicy['spec'], RegExp][] = [
      [OWN, { targetRefs: [{ kind: 'IngressClass', name: 'gold' }] }, /spec\.targetRefs\[0\]\.kind/],
      [OWN, { targetRefs: [{ kind: 'Namespace', name: 'rival' }] }, /not allowed for kind Namespace/],
      [OWN, { targetRefs: [{ kind: 'Ingress' }] }, /name is needed for kind Ingress/],
      [{}, { targetRefs: [{ kind: 'Namespace' }] }, /spec\.targetRefs\[0\]\.name/],
      [{}, { ...CLASS_TARGET, overridable: ['timeouts'] }, /spec\.overridable\[0\]/],
      [{}, { ...CLASS_TARGET, access: { allow: ['10.0.0.1,0.0.0.0/0'] } }, /spec\.access\.allow\[0\]/],
      [{}, { ...CLASS_TARGET, limits: { requestsPerSecond: 0 } }, /spec\.limits\.requestsPerSecond/],
      [{}, { ...CLASS_TARGET, https: { redirect: 'always' } }, /spec\.https\.redirect/],
      [
        {},
        { ...CLASS_TARGET, responses: { cookiePath: { from: '/ a', to: '/' } } },
        /spec\.responses\.cookiePath\.from/,
      ],
    ];
    for (const [where, spec, expected] of attempts)
      expect(await refusal(make('wrong', where, spec))).toMatch(expected);
  });
});

describe('the status', () => {
  it('reports what has become of a policy at each target', async () => {
    await world.makeClass('gold');
    const targets = [
      { kind: 'Ingress' as const, name: 'web' },
      { kind: 'Ingress' as const, name: 'later' },
    ];
    await make('own', OWN, { targetRefs: targets, timeouts: { read: '3s' } });
    await world.make(ingressObject('web', 'gold', ['a.example']));
    await statusIs('own', 'shop', [
      'Accepted: False TargetNotFound',
      'Applied: Unknown NoRouters',
      'Ingress web Accepted: True Accepted',
      'Ingress later Accepted: False TargetNotFound',
    ]);
    await world.make(ingressObject('later', 'gold', ['b.example']));
    await expect.poll(() => statusOf('own', 'shop'), { interval: 20 }).toContain('Accepted: True Accepted');
  });

  it('reports what cannot be read, and a section that an older policy sets', async () => {
    await make('wrong', OWN, { targetRefs: [{ kind: 'Namespace' }], access: { allow: ['10.0.0.0/99'] } });
    await statusIs('wrong', 'shop', [
      'Accepted: False Invalid',
      'Applied: Unknown NoRouters',
      'Namespace shop Accepted: False Invalid',
    ]);
    const [condition] = (await read('wrong', 'shop')).status?.conditions ?? [];
    expect(condition?.message).toMatch(/^spec\.access\.allow: Invalid value "10\.0\.0\.0\/99"/);
    await make('a', { namespace: 'rival' }, { targetRefs: [{ kind: 'Namespace' }], cors: {} });
    await make(
      'b',
      { namespace: 'rival' },
      { targetRefs: [{ kind: 'Namespace' }], cors: {}, access: { deny: ['192.0.2.1'] } },
    );
    // Of equal age, the first name wins.
    await expect
      .poll(async () =>
        [...(await statusOf('a', 'rival')), ...(await statusOf('b', 'rival'))].filter((each) =>
          /^Acc/.test(each),
        ),
      )
      .toEqual([expect.stringMatching(/True|Conflicted/), expect.stringMatching(/True|Conflicted/)]);
    const both = [...(await statusOf('a', 'rival')), ...(await statusOf('b', 'rival'))];
    expect(both.filter((each) => each === 'Accepted: False Conflicted')).toHaveLength(1);
    await world.client.delete(ROUTE_POLICIES, { name: 'a', namespace: 'rival' });
    await expect.poll(() => statusOf('b', 'rival'), { interval: 20 }).toContain('Accepted: True Accepted');
  });

  it('claims that routers have applied a policy only when they have reported it', async () => {
    await world.makeClass('gold');
    await world.make(ingressObject('web', 'gold', ['a.example']));
    await world.routersAre('gold: a.example');
    const policy = await make('all', {}, { ...CLASS_TARGET, timeouts: { read: '3s' } });
    const report = async (policies: string): Promise<void> => {
      const agent = { name: 'pod-1', appliedGeneration: 1, policies };
      const router = {
        apiVersion: 'networking.tidegate.io/v1alpha1',
        kind: 'L7Router',
        metadata: { name: 'gold' },
      };
      await new Applier(world.client, 'pod-1').applyStatus(
        { ...router, status: { agents: [agent] } } as KubeObject,
        {
          resource: L7_ROUTERS,
        },
      );
    };
    const applied = async () => (await statusOf('all')).find((each) => each.startsWith('Applied'));
    await expect.poll(applied, { interval: 20 }).toBe('Applied: Unknown NoRouters');
    await report('other');
    await expect.poll(applied, { interval: 20 }).toBe('Applied: False Waiting');
    const index = new PolicyIndex();
    index.put('ClusterRoutePolicy', policy);
    await report(index.digest);
    await expect.poll(applied, { interval: 20 }).toBe('Applied: True Applied');
  });
});

it('a policy that cannot be applied closes the hosts, and its Ingresses get an event', async () => {
  await world.makeClass('gold');
  await world.make(ingressObject('web', 'gold', ['a.example']));
  await make('all', {}, { ...CLASS_TARGET, basicAuth: { secretName: 'users' } });
  await expect
    .poll(async () => (await world.eventsOf('Ingress', 'web')).join('\n'), { interval: 20 })
    .toMatch(/^InvalidPolicy: .*ClusterRoutePolicy all spec\.secretNamespace.* 503/m);
});

it('routers may read the Secret of a ClusterRoutePolicy, as long as it has a class of the router', async () => {
  await world.makeClass('gold');
  await world.make(ingressObject('web', 'gold', ['a.example']));
  await world.routersAre('gold: a.example');
  const names = async () =>
    (await world.client.list(ROLES, { namespace: 'platform' })).items.flatMap(
      ({ rules }) => rules?.[0]?.resourceNames,
    );
  await make('all', {}, { ...CLASS_TARGET, secretNamespace: 'platform', basicAuth: { secretName: 'users' } });
  await expect.poll(names, { interval: 20 }).toEqual(['users']);
  await world.client.delete(CLUSTER_ROUTE_POLICIES, { name: 'all' });
  await expect.poll(names, { interval: 20 }).toEqual([]);
});
