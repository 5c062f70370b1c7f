/** Tests IngressClasses, their parameters and their routers with an embedded API server. */

import {
  CONFIG_MAPS,
  DEPLOYMENTS,
  getCondition,
  INGRESS_CLASSES,
  INGRESSES,
  type KubeObject,
  POD_DISRUPTION_BUDGETS,
  type Resource,
  SERVICE_ACCOUNTS,
  SERVICES,
} from '@tidegate/kube';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import {
  INGRESS_CLASS_PARAMETERS,
  ROUTER_LABEL,
  ROUTER_NAMESPACE,
  SYSTEM_NAMESPACE,
  sectionPorts,
} from '../../packages/tidegate/src/api/index.ts';
import { eventually } from '../support/patience.ts';
import { classObject, IngressWorld, ingressObject, parametersObject, undefinedIfGone } from './support.ts';

let world: IngressWorld;
beforeAll(async () => {
  world = await IngressWorld.start();
});
afterEach(() => world.clear());
afterAll(async () => {
  await world.stop();
  expect(world.errors).toEqual([]);
});

const configMap = (name: string, data: Record<string, string>): KubeObject => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, namespace: 'shop' },
  data,
});

describe('an IngressClass', () => {
  it('gets a router for its first Ingress, which is deleted with its last Ingress', async () => {
    await world.makeClass('gold');
    await world.make(ingressObject('a', 'gold', ['a.example']));
    await world.routersAre('gold: a.example');
    await eventually(
      async () => !(await world.isGone(DEPLOYMENTS, 'tidegate-router-gold', ROUTER_NAMESPACE)),
    );
    await world.remove(INGRESSES, 'a', 'shop');
    await world.routersAre();
    for (const resource of [DEPLOYMENTS, SERVICES, SERVICE_ACCOUNTS])
      expect(await world.isGone(resource as Resource, 'tidegate-router-gold', ROUTER_NAMESPACE)).toBe(true);
  });

  it('of another controller gets no router, and an Ingress without a class is ignored', async () => {
    await world.makeClass('foreign', undefined, 'k8s.io/ingress-nginx');
    await world.makeClass('gold');
    await world.make(ingressObject('f', 'foreign', ['f.example']), ingressObject('g', 'gold', ['g.example']));
    const { spec, ...none } = ingressObject('n', 'gold', ['n.example']);
    await world.make({ ...none, spec: { ...(spec as object), ingressClassName: undefined } } as KubeObject);
    await world.routersAre('gold: g.example');
  });

  it('has its own router', async () => {
    for (const name of ['gold', 'silver', 'bronze']) {
      await world.makeClass(name);
      await world.make(ingressObject(name, name, [`${name}.example`, 'all.example']));
    }
    await world.routersAre(
      'bronze: all.example bronze.example',
      'gold: all.example gold.example',
      'silver: all.example silver.example',
    );
  });

  it('gets another router when its router is full, and hosts stay where they are when the manager restarts', async () => {
    await world.makeClass('gold', { maxHosts: '2' });
    for (const host of ['c', 'b', 'a']) {
      await world.make(ingressObject(host, 'gold', [`${host}.example`]));
      await eventually(async () =>
        (await world.routers()).some((router) => router.includes(`${host}.example`)),
      );
    }
    await world.routersAre('gold-2: a.example', 'gold: b.example c.example');
    await world.stopControllers();
    await world.remove(INGRESSES, 'c', 'shop');
    await world.make(ingressObject('d', 'gold', ['d.example']), ingressObject('e', 'gold', ['e.example']));
    world.startControllers();
    await world.routersAre('gold-2: a.example e.example', 'gold: b.example d.example');
  });

  it('keeps a moving host on its old router until the new router serves it', async () => {
    await world.makeClass('gold', { maxRules: '4', drainTime: '1s' });
    await world.make(ingressObject('a', 'gold', ['a.example'], { paths: 2 }));
    await world.routersAre('gold: a.example');
    await world.make(ingressObject('b', 'gold', ['b.example'], { paths: 2 }));
    await world.routersAre('gold: a.example b.example');
    await world.run('gold');
    await world.serve('gold');
    const [before] = (await eventually(async () => {
      const addresses = (await world.addressesOf('b')) as string[];
      return addresses.length > 0 && addresses;
    })) as string[];
    await world.make(ingressObject('b', 'gold', ['b.example'], { paths: 3 }));
    await world.routersAre('gold-2: a.example', 'gold: (a.example) b.example');
    await world.run('gold-2');
    await eventually(async () => ((await world.router('gold-2'))?.status?.addresses ?? []).length === 1);
    expect(await world.routers()).toContain('gold: (a.example) b.example');
    expect(await world.addressesOf('a')).toEqual([before]);
    await world.serve('gold-2');
    await eventually(async () => !((await world.addressesOf('a')) as string[]).includes(before!));
    await world.routersAre('gold-2: a.example', 'gold: b.example');
    expect(await world.addressesOf('b')).toEqual([before]);
  });

  it('has rules without a host on every router', async () => {
    await world.makeClass('gold', { maxHosts: '1' });
    await world.make(ingressObject('all', 'gold', ['']));
    await world.routersAre('gold: ');
    await world.make(
      ingressObject('one', 'gold', ['a.example']),
      ingressObject('two', 'gold', ['b.example']),
    );
    await world.routersAre('gold-2: b.example', 'gold: a.example');
    await eventually(async () => (await world.router('gold-2'))?.status?.rules === 2);
  });

  it('deletes nothing that only has the label of a router', async () => {
    await world.makeClass('gold');
    await world.make(ingressObject('a', 'gold', ['a.example']));
    await eventually(
      async () => !(await world.isGone(DEPLOYMENTS, 'tidegate-router-gold', ROUTER_NAMESPACE)),
    );
    const labels = { [ROUTER_LABEL]: 'gold' };
    for (const [name, more] of [
      ['labeled', labels],
      ['no-router', { [ROUTER_LABEL]: 'none' }],
    ] as const)
      await world.make({
        apiVersion: 'v1',
        kind: 'ConfigMap',
        metadata: { name, namespace: ROUTER_NAMESPACE, labels: more },
      });
    await world.remove(INGRESSES, 'a', 'shop');
    await world.routersAre();
    expect(await world.isGone(CONFIG_MAPS, 'labeled', ROUTER_NAMESPACE)).toBe(false);
    expect(await world.isGone(CONFIG_MAPS, 'no-router', ROUTER_NAMESPACE)).toBe(false);
    for (const name of ['labeled', 'no-router']) await world.remove(CONFIG_MAPS, name, ROUTER_NAMESPACE);
  });

  it('shares a router with classes of the same sharedAddress', async () => {
    for (const name of ['gold', 'silver']) {
      await world.makeClass(name, { sharedAddress: 'front' });
      await world.make(ingressObject(name, name, [`${name}.example`]));
    }
    await world.routersAre('front: gold.example silver.example');
    await eventually(async () => (await world.router('front'))?.spec.sharedWith?.includes('silver'));
    const generation = async (): Promise<number | undefined> => {
      const target = { name: 'tidegate-router-front', namespace: ROUTER_NAMESPACE };
      return (await world.client.get(DEPLOYMENTS, target).catch(undefinedIfGone))?.metadata.generation;
    };
    await eventually(generation);
    // The youngest class joins without a rollout. Its parameters do not apply.
    await world.makeClass('zinc', { sharedAddress: 'front', replicas: '9' });
    await world.make(ingressObject('zinc', 'zinc', ['zinc.example']));
    await world.routersAre('front: gold.example silver.example zinc.example');
    await expect
      .poll(() => world.eventsOf('IngressClass', 'zinc'))
      .toEqual([
        expect.stringContaining('ParametersIgnored: The parameters of IngressClass zinc are ignored'),
      ]);
    expect(await generation()).toBe(1);
  });

  it('keeps its own router until the router of its new sharedAddress serves', async () => {
    await world.makeClass('gold', {});
    await world.make(ingressObject('a', 'gold', ['a.example']));
    await world.routersAre('gold: a.example');
    await world.make(parametersObject('gold', { sharedAddress: 'front', drainTime: '1s' }));
    await world.routersAre('front: a.example', 'gold: a.example');
    await eventually(
      async () => !(await world.isGone(DEPLOYMENTS, 'tidegate-router-front', ROUTER_NAMESPACE)),
    );
    expect((await world.router('gold'))?.metadata.deletionTimestamp).toBeUndefined();
    await world.run('front');
    await world.serve('front');
    await world.routersAre('front: a.example');
  });

  it('does not get the section of a class whose Service still leads to the shared pods', async () => {
    await world.makeClass('gold', { sharedPods: 'front' });
    await world.make(ingressObject('gold', 'gold', ['gold.example']));
    const serviceOf = (name: string) =>
      world.client
        .get(SERVICES, { name: `tidegate-router-${name}`, namespace: ROUTER_NAMESPACE })
        .catch(undefinedIfGone);
    const ledTo = async (name: string) => (await serviceOf(name))?.spec?.ports?.[0]?.targetPort;
    await expect.poll(() => ledTo('gold')).toBe(sectionPorts(1).http);
    await world.make(parametersObject('gold', {}));
    await eventually(async () => (await world.router('gold'))?.spec.workload?.section === undefined);
    // No pod of its own runs yet, so requests for the class go to the shared pods.
    await world.makeClass('silver', { sharedPods: 'front' });
    await world.make(ingressObject('silver', 'silver', ['silver.example']));
    await expect.poll(() => ledTo('silver')).toBe(sectionPorts(2).http);
    expect(await ledTo('gold')).toBe(sectionPorts(1).http);
    // It returns to its own section.
    await world.make(parametersObject('gold', { sharedPods: 'front' }));
    await expect.poll(async () => (await world.router('gold'))?.spec.workload?.section).toBe(1);
  });

  it('is not placed if a user has created a router for all its hosts', async () => {
    await world.makeClass('gold');
    await world.make({
      apiVersion: 'networking.tidegate.io/v1alpha1',
      kind: 'L7Router',
      metadata: { name: 'door' },
      spec: { ingressClassName: 'gold', driver: 'embedded', pool: 'paris', workload: { replicas: 2 } },
    });
    await eventually(
      async () => !(await world.isGone(DEPLOYMENTS, 'tidegate-router-door', ROUTER_NAMESPACE)),
    );
    await eventually(
      async () => !(await world.isGone(POD_DISRUPTION_BUDGETS, 'tidegate-router-door', ROUTER_NAMESPACE)),
    );
    await world.make(ingressObject('a', 'gold', ['a.example']));
    await eventually(async () => (await world.router('door'))?.status?.hosts === 1);
    expect(await world.routers()).toEqual(['door: all']);
  });
});

describe('parameters of an IngressClass', () => {
  it('are reported when they are missing, provision a router when they exist, and update it when they change', async () => {
    await world.make(classObject('gold', 'late'), ingressObject('a', 'gold', ['a.example', 'b.example']));
    await expect
      .poll(() => world.eventsOf('IngressClass', 'gold'))
      .toEqual([
        expect.stringContaining(
          'ParametersNotFound: spec.parameters: IngressClassParameters tidegate-system/late not found',
        ),
      ]);
    expect(await world.routers()).toEqual([]);
    await world.make(parametersObject('late', { maxHosts: '5', replicas: '2' }));
    await world.routersAre('gold: a.example b.example');
    await world.make(parametersObject('late', { maxHosts: '5', replicas: '3' }));
    await eventually(async () => (await world.router('gold'))?.spec.workload?.replicas === 3);
    await world.remove(INGRESS_CLASS_PARAMETERS, 'late', SYSTEM_NAMESPACE);
    await eventually(async () => {
      const { status } = (await world.router('gold'))!;
      return getCondition(status?.conditions as never, 'Provisioned')?.reason === 'ClassNotUnderstood';
    });
    expect((await world.router('gold'))?.spec.workload?.replicas).toBe(3);
  });

  it('can be in another namespace, or in a ConfigMap', async () => {
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
      parametersObject('own', { maxHosts: '1080' }, 'shop'),
      configMap('own', { maxHosts: '1090' }),
      withScope('one', 'IngressClassParameters', 'networking.tidegate.io'),
      withScope('two', 'ConfigMap'),
      ingressObject('a', 'one', ['a.example']),
      ingressObject('b', 'two', ['b.example']),
    );
    await world.routersAre('one: a.example', 'two: b.example');
    const maxHosts = async (router: string): Promise<number | undefined> =>
      (await world.router(router))?.spec.capacity?.maxHosts;
    expect((await world.router('one'))?.spec).toMatchObject({
      driver: 'nginx',
      capacity: { maxHosts: 1080 },
    });
    expect(await maxHosts('two')).toBe(1090);
    await world.make(configMap('own', { maxHosts: '1091' }));
    await eventually(async () => (await maxHosts('two')) === 1091);
    // A reference to other parameters updates the router and does not replace it.
    const { uid } = (await world.router('one'))!.metadata;
    await world.make(configMap('other', { maxHosts: '1070' }));
    await world.client.patch(INGRESS_CLASSES, { name: 'one' }, 'merge', {
      spec: { parameters: { apiGroup: null, kind: 'ConfigMap', name: 'other' } },
    });
    await eventually(async () => (await maxHosts('one')) === 1070);
    expect((await world.router('one'))?.metadata).toMatchObject({ uid });
    expect((await world.router('one'))?.metadata.deletionTimestamp).toBeUndefined();
    // A tenant must not decide what the manager runs, and where. The router stays as it is.
    await world.make(configMap('own', { maxHosts: '1092', image: 'evil:1', namespace: 'kube-system' }));
    await expect
      .poll(() => world.eventsOf('IngressClass', 'two'))
      .toContainEqual(
        expect.stringContaining(
          'InvalidParameters: ConfigMap shop/own must not set image, namespace, nothing is provisioned. In the namespace shop, only maxHosts, maxRules, accessLog are allowed',
        ),
      );
    expect((await world.router('two'))?.spec.workload).toBeUndefined();
    expect(await maxHosts('two')).toBe(1091);
    await world.remove(CONFIG_MAPS, 'own', 'shop');
    await world.remove(INGRESS_CLASS_PARAMETERS, 'own', 'shop');
  });

  it('can select only what the administrator allows', async () => {
    await world.makeClass('gold', { image: 'evil:1' });
    await world.make(ingressObject('a', 'gold', ['a.example']));
    const problem = async (): Promise<string | undefined> => {
      const { conditions } = (await world.router('gold'))?.status ?? {};
      return getCondition(conditions as never, 'Provisioned')?.message;
    };
    await expect.poll(problem).toContain('image "evil:1" is not allowed');
    expect(await world.isGone(DEPLOYMENTS, 'tidegate-router-gold', ROUTER_NAMESPACE)).toBe(true);
    await world.make(parametersObject('gold', { addresses: '10.96.0.1' }));
    await expect.poll(problem).toContain('10.96.0.1 is not in a range that routers may use');
    await world.make(parametersObject('gold', { namespace: 'kube-system' }));
    await expect.poll(problem).toContain('not in kube-system');
    expect(await world.isGone(DEPLOYMENTS, 'tidegate-router-gold', ROUTER_NAMESPACE)).toBe(true);
    await world.make(parametersObject('gold', {}));
    await eventually(
      async () => !(await world.isGone(DEPLOYMENTS, 'tidegate-router-gold', ROUTER_NAMESPACE)),
    );
  });

  it('that are invalid or unknown are reported with the valid values', async () => {
    await world.makeClass('gold', { maxHosts: 'many', color: 'blue' });
    await expect
      .poll(() => world.eventsOf('IngressClass', 'gold'))
      .toContainEqual(expect.stringContaining('maxHosts: "many" is invalid: write a number from 1 to 20000'));
    await world.make(parametersObject('gold', { color: 'blue' }));
    await expect
      .poll(() => world.eventsOf('IngressClass', 'gold'))
      .toContainEqual(
        expect.stringContaining(
          'Unknown parameters are ignored: "color". Supported parameters: accessLog, addresses',
        ),
      );
  });
});
