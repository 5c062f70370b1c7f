/** Classes, routers and what is told about them, against an embedded API server. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import {
  INGRESS_CLASS_PARAMETERS,
  L7_ROUTERS,
  ROUTER_STATE_ANNOTATION,
  SYSTEM_NAMESPACE,
} from '../../src/api/index.ts';
import {
  CLUSTER_ROLES,
  CONFIG_MAPS,
  DEPLOYMENTS,
  getCondition,
  INGRESS_CLASSES,
  INGRESSES,
  isNotFound,
  type KubeObject,
  NODES,
  POD_DISRUPTION_BUDGETS,
  PODS,
  type Resource,
  ROLES,
  SERVICE_ACCOUNTS,
  SERVICES,
} from '../../src/kube/index.ts';
import { eventually } from '../pools/support.ts';
import { classObject, IngressWorld, ingressObject, parametersObject } from './support.ts';

let world: IngressWorld;
beforeAll(async () => {
  world = await IngressWorld.start();
});
afterAll(async () => {
  await world.stop();
  expect(world.errors).toEqual([]);
});
afterEach(async () => {
  const { client } = world;
  for (const namespace of ['shop', 'rival']) await client.deleteCollection(INGRESSES, { namespace });
  await eventually(async () => (await world.routers()).every((router) => router.endsWith(': all')));
  await client.deleteCollection(L7_ROUTERS);
  await eventually(async () => (await world.routers()).length === 0);
  await client.deleteCollection(INGRESS_CLASSES);
  await client.deleteCollection(INGRESS_CLASS_PARAMETERS, { namespace: SYSTEM_NAMESPACE });
  await client.deleteCollection(PODS, { namespace: SYSTEM_NAMESPACE, gracePeriodSeconds: 0 });
  await client.deleteCollection(NODES);
});

const routersAre = (...expected: string[]): Promise<unknown> =>
  expect.poll(() => world.routers(), { interval: 10 }).toEqual(expected);
const isGone = <T extends KubeObject>(resource: Resource<T>, name: string, namespace?: string) =>
  world.client.get(resource, { name, namespace }).then(() => false, isNotFound);
const addressesOf = async (ingress: string): Promise<unknown> =>
  (await world.ingress(ingress)).status?.loadBalancer?.ingress?.map(({ ip }) => ip) ?? [];

describe('a class', () => {
  it('gets a router with its first Ingress, and loses it with its last', async () => {
    await world.makeClass('gold');
    await world.make(ingressObject('a', 'gold', ['a.example']));
    await routersAre('gold: a.example');
    await eventually(async () => !(await isGone(DEPLOYMENTS, 'tidegate-router-gold', SYSTEM_NAMESPACE)));
    await world.remove(INGRESSES, 'a', 'shop');
    await routersAre();
    for (const resource of [DEPLOYMENTS, SERVICES, SERVICE_ACCOUNTS])
      expect(await isGone(resource as Resource, 'tidegate-router-gold', SYSTEM_NAMESPACE)).toBe(true);
    expect(await isGone(CLUSTER_ROLES, 'tidegate-router-gold')).toBe(true);
  });

  it('of another controller, or none at all, is left alone', async () => {
    await world.makeClass('foreign', undefined, 'k8s.io/ingress-nginx');
    await world.makeClass('gold');
    await world.make(ingressObject('f', 'foreign', ['f.example']), ingressObject('g', 'gold', ['g.example']));
    const { spec, ...none } = ingressObject('n', 'gold', ['n.example']);
    await world.make({ ...none, spec: { ...(spec as object), ingressClassName: undefined } } as KubeObject);
    await routersAre('gold: g.example');
  });

  it('gold, silver and bronze of one provisioner have a router each', async () => {
    for (const name of ['gold', 'silver', 'bronze']) {
      await world.makeClass(name);
      await world.make(ingressObject(name, name, [`${name}.example`, 'all.example']));
    }
    await routersAre(
      'bronze: all.example bronze.example',
      'gold: all.example gold.example',
      'silver: all.example silver.example',
    );
  });

  it('is given a sibling when its router is full; placement outlives the manager', async () => {
    await world.makeClass('gold', { maxHosts: '2' });
    for (const host of ['c', 'b', 'a']) {
      await world.make(ingressObject(host, 'gold', [`${host}.example`]));
      await eventually(async () =>
        (await world.routers()).some((router) => router.includes(`${host}.example`)),
      );
    }
    await routersAre('gold-2: a.example', 'gold: b.example c.example');
    await world.stopControllers();
    await world.remove(INGRESSES, 'c', 'shop');
    await world.make(ingressObject('d', 'gold', ['d.example', 'e.example']));
    world.startControllers();
    await routersAre('gold-2: a.example e.example', 'gold: b.example d.example');
  });

  it('moves a host that has outgrown its router without a gap', async () => {
    await world.makeClass('gold', { maxRules: '4' });
    await world.make(ingressObject('a', 'gold', ['a.example'], { paths: 2 }));
    await routersAre('gold: a.example');
    await world.make(ingressObject('b', 'gold', ['b.example'], { paths: 2 }));
    await routersAre('gold: a.example b.example');
    await world.run('gold');
    await world.serve('gold');
    const [before] = (await eventually(async () => {
      const addresses = (await addressesOf('b')) as string[];
      return addresses.length > 0 && addresses;
    })) as string[];
    await world.make(ingressObject('b', 'gold', ['b.example'], { paths: 3 }));
    await routersAre('gold-2: a.example', 'gold: (a.example) b.example');
    await world.run('gold-2');
    await eventually(async () => {
      const { status } = (await world.router('gold-2'))!;
      return getCondition(status?.conditions as never, 'Ready')?.status === 'True';
    });
    expect(await world.routers()).toContain('gold: (a.example) b.example');
    await world.serve('gold-2');
    await routersAre('gold-2: a.example', 'gold: b.example');
    await eventually(async () => !((await addressesOf('a')) as string[]).includes(before!));
    expect(await addressesOf('b')).toEqual([before]);
  });

  it('has what is for all hosts on every router', async () => {
    await world.makeClass('gold', { maxHosts: '1' });
    await world.make(ingressObject('all', 'gold', ['']));
    await routersAre('gold: ');
    await world.make(ingressObject('two', 'gold', ['a.example', 'b.example']));
    await routersAre('gold-2: b.example', 'gold: a.example');
    await eventually(async () => (await world.router('gold-2'))?.status?.rules === 2);
  });

  it('that shares an address shares a router', async () => {
    for (const name of ['gold', 'silver']) {
      await world.makeClass(name, { sharedAddress: 'front' });
      await world.make(ingressObject(name, name, [`${name}.example`]));
    }
    await routersAre('front: gold.example silver.example');
    await eventually(async () => (await world.router('front'))?.spec.sharedWith?.includes('silver'));
    const args = async (): Promise<string[] | undefined> => {
      const target = { name: 'tidegate-router-front', namespace: SYSTEM_NAMESPACE };
      const found = await world.client.get(DEPLOYMENTS, target).catch(() => undefined);
      return found?.spec?.template.spec?.containers[0]?.args;
    };
    await expect
      .poll(args)
      .toEqual(expect.arrayContaining(['--class=gold', '--class=silver', '--router=front']));
  });

  it('that comes to share an address keeps its own router until it is served there', async () => {
    await world.makeClass('gold', {});
    await world.make(ingressObject('a', 'gold', ['a.example']));
    await routersAre('gold: a.example');
    await world.make(parametersObject('gold', { sharedAddress: 'front' }));
    await routersAre('front: a.example', 'gold: a.example');
    await eventually(async () => !(await isGone(DEPLOYMENTS, 'tidegate-router-front', SYSTEM_NAMESPACE)));
    expect((await world.router('gold'))?.metadata.deletionTimestamp).toBeUndefined();
    await world.run('front');
    await world.serve('front');
    await routersAre('front: a.example');
  });

  it('that somebody has made a router of all hosts for is not placed', async () => {
    await world.makeClass('gold');
    await world.make({
      apiVersion: 'networking.tidegate.io/v1alpha1',
      kind: 'L7Router',
      metadata: { name: 'door' },
      spec: { ingressClassName: 'gold', driver: 'embedded', pool: 'paris', workload: { replicas: 2 } },
    });
    await eventually(async () => !(await isGone(DEPLOYMENTS, 'tidegate-router-door', SYSTEM_NAMESPACE)));
    await eventually(
      async () => !(await isGone(POD_DISRUPTION_BUDGETS, 'tidegate-router-door', SYSTEM_NAMESPACE)),
    );
    await world.make(ingressObject('a', 'gold', ['a.example']));
    await eventually(async () => (await world.router('door'))?.status?.hosts === 1);
    expect(await world.routers()).toEqual(['door: all']);
  });
});

describe('parameters', () => {
  it('that are missing are told, and nothing is provisioned until they come; later changes count', async () => {
    await world.make(classObject('gold', 'late'), ingressObject('a', 'gold', ['a.example', 'b.example']));
    await expect
      .poll(() => world.eventsOf('IngressClass', 'gold'))
      .toEqual([
        expect.stringContaining(
          'ParametersNotFound: There is no IngressClassParameters late in namespace tidegate-system',
        ),
      ]);
    expect(await world.routers()).toEqual([]);
    await world.make(parametersObject('late', { maxHosts: '5', replicas: '2' }));
    await routersAre('gold: a.example b.example');
    await world.make(parametersObject('late', { maxHosts: '5', replicas: '3' }));
    await eventually(async () => (await world.router('gold'))?.spec.workload?.replicas === 3);
    await world.remove(INGRESS_CLASS_PARAMETERS, 'late', SYSTEM_NAMESPACE);
    await eventually(async () => {
      const { status } = (await world.router('gold'))!;
      return getCondition(status?.conditions as never, 'Provisioned')?.reason === 'ClassNotUnderstood';
    });
    expect((await world.router('gold'))?.spec.workload?.replicas).toBe(3);
  });

  it('may be in another namespace, or in a ConfigMap', async () => {
    const withScope = (name: string, kind: string, apiGroup?: string) => ({
      ...classObject(name),
      spec: {
        controller: 'tidegate.io/nginx',
        parameters: {
          ...(apiGroup && { apiGroup }),
          kind,
          name: 'own',
          scope: 'Namespace',
          namespace: 'shop',
        },
      },
    });
    await world.make(
      parametersObject('own', { httpPort: '8000' }, 'shop'),
      {
        apiVersion: 'v1',
        kind: 'ConfigMap',
        metadata: { name: 'own', namespace: 'shop' },
        data: { httpPort: '9000' },
      } as KubeObject,
      withScope('one', 'IngressClassParameters', 'networking.tidegate.io'),
      withScope('two', 'ConfigMap'),
      ingressObject('a', 'one', ['a.example']),
      ingressObject('b', 'two', ['b.example']),
    );
    await routersAre('one: a.example', 'two: b.example');
    expect((await world.router('one'))?.spec).toMatchObject({
      driver: 'nginx',
      workload: { httpPort: 8000 },
    });
    expect((await world.router('two'))?.spec.workload?.httpPort).toBe(9000);
    await world.make({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'own', namespace: 'shop' },
      data: { httpPort: '9001' },
    } as KubeObject);
    await eventually(async () => (await world.router('two'))?.spec.workload?.httpPort === 9001);
    // Other parameters are no reason to begin anew.
    const { uid } = (await world.router('one'))!.metadata;
    await world.make({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'other', namespace: 'shop' },
      data: { httpPort: '9100' },
    } as KubeObject);
    await world.client.patch(INGRESS_CLASSES, { name: 'one' }, 'merge', {
      spec: { parameters: { apiGroup: null, kind: 'ConfigMap', name: 'other' } },
    });
    await eventually(async () => (await world.router('one'))?.spec.workload?.httpPort === 9100);
    expect((await world.router('one'))?.metadata).toMatchObject({ uid });
    expect((await world.router('one'))?.metadata.deletionTimestamp).toBeUndefined();
    await world.remove(CONFIG_MAPS, 'own', 'shop');
    await world.remove(INGRESS_CLASS_PARAMETERS, 'own', 'shop');
  });

  it('that can not be read, or that nobody knows, are told with what to write', async () => {
    await world.makeClass('gold', { maxHosts: 'many', colour: 'blue' });
    await expect
      .poll(() => world.eventsOf('IngressClass', 'gold'))
      .toContainEqual(
        expect.stringContaining('maxHosts: "many" can not be used: write a number from 1 to 20000'),
      );
    await world.make(parametersObject('gold', { colour: 'blue' }));
    await expect
      .poll(() => world.eventsOf('IngressClass', 'gold'))
      .toContainEqual(expect.stringContaining('Nobody knows "colour"; known are accessLog, addresses'));
  });
});

describe('what is told', () => {
  beforeEach(async () => {
    await world.makeClass('gold', { maxHosts: '1', publishNodeAnnotation: 'true' });
  });

  it('an Ingress has the addresses of its routers, and has them no more when it is not ours', async () => {
    await world.make(ingressObject('a', 'gold', ['a.example', 'b.example']));
    await routersAre('gold-2: b.example', 'gold: a.example');
    await world.run('gold');
    await eventually(async () => ((await addressesOf('a')) as string[]).length === 1);
    await world.run('gold-2');
    await eventually(async () => ((await addressesOf('a')) as string[]).length === 2);
    const [, { items: services }] = [0, await world.client.list(SERVICES, { namespace: SYSTEM_NAMESPACE })];
    const ports = services.flatMap(({ spec }) => spec?.ports?.map(({ nodePort }) => nodePort) ?? []);
    const { status } = await world.ingress('a');
    expect(
      status?.loadBalancer?.ingress?.flatMap(({ ports }) => ports?.map(({ port }) => port)).sort(),
    ).toEqual(ports.sort());
    await world.make(ingressObject('a', 'unknown', ['a.example', 'b.example']));
    await routersAre();
    await eventually(async () => ((await addressesOf('a')) as string[]).length === 0);
  });

  it('whoever comes second is told, and the router says so too', async () => {
    // Within one second the name decides who was first.
    await world.make(ingressObject('first', 'gold', ['a.example'], { namespace: 'rival' }));
    await routersAre('gold: a.example');
    await world.make(ingressObject('second', 'gold', ['a.example', 'b.example']));
    await expect
      .poll(() => world.eventsOf('Ingress', 'second'))
      .toContainEqual(
        expect.stringContaining(
          'HostConflict: spec.rules[0].host: The host a.example belongs to namespace rival',
        ),
      );
    await routersAre('gold-2: b.example', 'gold: a.example');
    await eventually(async () =>
      (await world.router('gold-2'))?.status?.problems?.some(
        ({ ingress, reason }) => ingress === 'shop/second' && reason === 'HostConflict',
      ),
    );
    const { items } = await world.client.list(L7_ROUTERS);
    expect(items.map(({ status }) => [status?.hosts, status?.rules])).toEqual([
      [1, 1],
      [1, 1],
    ]);
    expect((await world.router('gold'))?.status?.problems).toContainEqual(
      expect.objectContaining({ reason: 'ServiceNotFound', ingress: 'rival/first' }),
    );
  });

  it('nodes tell where their router is, as Kuryr has it', async () => {
    await world.make(ingressObject('a', 'gold', ['a.example']));
    await routersAre('gold: a.example');
    await world.run('gold');
    const annotation = async (): Promise<string | undefined> =>
      (await world.client.get(NODES, { name: 'node-gold-1' })).metadata.annotations?.[
        ROUTER_STATE_ANNOTATION
      ];
    const state = JSON.parse((await eventually(annotation)) as string) as Record<
      string,
      Record<string, unknown>
    >;
    expect(state).toMatchObject({
      'versioned_object.name': 'L7RouterState',
      'versioned_object.data': {
        fip: expect.stringMatching(/^192\.0\.2\./),
        router_lb: { 'versioned_object.data': { name: 'gold' } },
      },
    });
    await world.make(parametersObject('gold', { maxHosts: '1' }));
    await eventually(async () => (await annotation()) === undefined);
  });

  it('a router may read the Secrets of its own Ingresses, by name', async () => {
    await world.make(
      ingressObject('a', 'gold', ['a.example'], { secretName: 'a-tls' }),
      ingressObject('b', 'gold', ['b.example'], { secretName: 'b-tls' }),
    );
    await eventually(async () => (await world.routers()).length === 2);
    const names = async (router: string): Promise<unknown> => {
      const found = await world.client
        .get(ROLES, { name: `tidegate-router-${router}`, namespace: 'shop' })
        .catch(() => undefined);
      return found?.rules?.map(({ resources, resourceNames, verbs }) => [resources, resourceNames, verbs]);
    };
    const rights = (...secrets: string[]) => [[['secrets'], secrets, ['list', 'watch']]];
    await expect.poll(() => names('gold')).toEqual(rights('a-tls'));
    await expect.poll(() => names('gold-2')).toEqual(rights('b-tls'));
    await world.make(ingressObject('a', 'gold', ['a.example']));
    await expect.poll(() => names('gold')).toBeUndefined();
  });

  it('what somebody changes by hand is put right', async () => {
    await world.make(ingressObject('a', 'gold', ['a.example']));
    const target = { name: 'tidegate-router-gold', namespace: SYSTEM_NAMESPACE };
    await eventually(async () => !(await isGone(DEPLOYMENTS, target.name, target.namespace)));
    await world.client.patch(DEPLOYMENTS, target, 'merge', { spec: { replicas: 7 } });
    await eventually(async () => (await world.client.get(DEPLOYMENTS, target)).spec?.replicas === 1);
    await world.remove(SERVICES, target.name, target.namespace);
    await eventually(async () => !(await isGone(SERVICES, target.name, target.namespace)));
  });
});

describe('the kinds, as an API server holds people to them', () => {
  const refusal = (...objects: KubeObject[]): Promise<string> =>
    world.make(...objects).then(
      () => expect.unreachable('it was accepted'),
      (error: Error) => error.message,
    );
  const router = (name: string, spec: object): KubeObject => ({
    apiVersion: 'networking.tidegate.io/v1alpha1',
    kind: 'L7Router',
    metadata: { name },
    spec,
  });

  it('parameters have names, and are not too many', async () => {
    expect(await refusal(parametersObject('p', { '': 'x' }))).toContain('a parameter needs a name');
    const many = Object.fromEntries(Array.from({ length: 513 }, (_, index) => [`p${index}`, '']));
    expect(await refusal(parametersObject('p', many))).toContain('512');
  });

  it('a router has a class and a driver, and a name that fits a label', async () => {
    expect(await refusal(router('r', { driver: 'octavia' }))).toContain('spec.ingressClassName');
    const spec = { ingressClassName: 'gold', driver: 'octavia' };
    expect(await refusal(router('r', { ...spec, sharedWith: ['gold'] }))).toContain(
      'sharedWith is for further classes',
    );
    expect(await refusal(router('r'.repeat(64), spec))).toContain('at most 63 characters');
    expect(await refusal(router('r', { ...spec, workload: { httpPort: 70_000 } }))).toContain('65535');
  });

  it('a router of a driver that is not ours is left to its own provisioner', async () => {
    await world.make(router('cloud', { ingressClassName: 'gold', driver: 'octavia' }), classObject('gold'));
    await world.make(router('ours', { ingressClassName: 'gold', driver: 'embedded' }));
    await eventually(async () => !(await isGone(DEPLOYMENTS, 'tidegate-router-ours', SYSTEM_NAMESPACE)));
    expect(await isGone(DEPLOYMENTS, 'tidegate-router-cloud', SYSTEM_NAMESPACE)).toBe(true);
    expect((await world.router('cloud'))?.metadata.finalizers).toBeUndefined();
  });
});
