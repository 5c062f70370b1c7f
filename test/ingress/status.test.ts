/** Tests status, events, permissions and CRD validation of ingress objects with an embedded API server. */

import {
  DEPLOYMENTS,
  getCondition,
  INGRESSES,
  type KubeObject,
  NODES,
  ROLES,
  SERVICES,
} from '@tidegate/kube';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import {
  L7_ROUTERS,
  type L7Router,
  ROUTER_NAMESPACE,
  ROUTER_STATE_ANNOTATION,
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

const readyOf = (router: L7Router | undefined): string => {
  const ready = getCondition(router?.status?.conditions as never, 'Ready');
  return `${ready?.status} ${ready?.reason}`;
};

describe('the ingress controllers', () => {
  beforeEach(async () => {
    await world.makeClass('gold', { maxHosts: '1', publishNodeAnnotation: 'true' });
  });

  it('write the address of its router to an Ingress, and remove it when its class changes', async () => {
    await world.make(ingressObject('a', 'gold', ['a.example']));
    await world.routersAre('gold: a.example');
    await world.run('gold');
    await eventually(async () => (await world.router('gold'))?.status?.addresses?.length === 1);
    expect(readyOf(await world.router('gold'))).toBe('False NotReported');
    expect(await world.addressesOf('a')).toEqual([]);
    await world.serve('gold');
    await eventually(async () => ((await world.addressesOf('a')) as string[]).length === 1);
    expect(readyOf(await world.router('gold'))).toBe('True Serving');
    const [, { items: services }] = [0, await world.client.list(SERVICES, { namespace: ROUTER_NAMESPACE })];
    const ports = services.flatMap(({ spec }) => spec?.ports?.map(({ nodePort }) => nodePort) ?? []);
    const { status } = await world.ingress('a');
    expect(
      status?.loadBalancer?.ingress?.flatMap(({ ports }) => ports?.map(({ port }) => port)).sort(),
    ).toEqual(ports.sort());
    await world.make(ingressObject('a', 'unknown', ['a.example']));
    await world.routersAre();
    await eventually(async () => ((await world.addressesOf('a')) as string[]).length === 0);
  });

  it('report a host conflict to the younger Ingress and in the status of the router', async () => {
    // Creation times have a resolution of one second. For equal times, the name decides.
    await world.make(ingressObject('first', 'gold', ['a.example'], { namespace: 'rival' }));
    await world.routersAre('gold: a.example');
    await world.make(ingressObject('second', 'gold', ['a.example', 'b.example']));
    await expect
      .poll(() => world.eventsOf('Ingress', 'second'))
      .toContainEqual(
        expect.stringContaining(
          'HostConflict: spec.rules[0].host: Host a.example belongs to namespace rival',
        ),
      );
    await world.routersAre('gold-2: b.example', 'gold: a.example');
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

  it('report annotations of ingress-nginx that they refuse or ignore', async () => {
    const ingress = ingressObject('a', 'gold', ['a.example']);
    const annotations = {
      'nginx.ingress.kubernetes.io/auth-snippet': 'http://a',
      'nginx.ingress.kubernetes.io/fastcgi-index': 'index.php',
    };
    await world.make({ ...ingress, metadata: { ...ingress.metadata, annotations } });
    for (const text of [
      'AccessControlNotSupported: metadata.annotations[nginx.ingress.kubernetes.io/auth-snippet]: ',
      'AnnotationIgnored: metadata.annotations[nginx.ingress.kubernetes.io/fastcgi-index]: ',
    ])
      await expect.poll(() => world.eventsOf('Ingress', 'a')).toContainEqual(expect.stringContaining(text));
  });

  it('annotate nodes with the address of their router in the format of Kuryr', async () => {
    await world.make(ingressObject('a', 'gold', ['a.example']));
    await world.routersAre('gold: a.example');
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

  it('let a router read the Secrets and ConfigMaps of its own Ingresses only', async () => {
    await world.make(
      ingressObject('a', 'gold', ['a.example'], { secretName: 'a-tls' }),
      ingressObject('b', 'gold', ['b.example'], { secretName: 'b-tls' }),
    );
    await eventually(async () => (await world.routers()).length === 2);
    const names = async (router: string): Promise<unknown> => {
      const found = await world.client
        .get(ROLES, { name: `tidegate-router-${router}`, namespace: 'shop' })
        .catch(undefinedIfGone);
      return found?.rules?.map(({ resources, resourceNames, verbs }) => [resources, resourceNames, verbs]);
    };
    const rights = (...secrets: string[]) => [[['secrets'], secrets, ['list', 'watch']]];
    await expect.poll(() => names('gold')).toEqual(rights('a-tls'));
    await expect.poll(() => names('gold-2')).toEqual(rights('b-tls'));
    await world.make(ingressObject('a', 'gold', ['a.example']));
    await expect.poll(() => names('gold')).toBeUndefined();
    const annotations = {
      'nginx.ingress.kubernetes.io/auth-type': 'basic',
      'nginx.ingress.kubernetes.io/auth-secret': 'users',
    };
    const target = { name: 'a', namespace: 'shop' };
    // This changes no generation.
    await world.client.patch(INGRESSES, target, 'merge', { metadata: { annotations } });
    await expect.poll(() => names('gold')).toEqual(rights('users'));
    const other = {
      'nginx.ingress.kubernetes.io/auth-secret': 'other/users',
      'nginx.ingress.kubernetes.io/custom-headers': 'headers',
    };
    await world.client.patch(INGRESSES, target, 'merge', { metadata: { annotations: other } });
    await expect.poll(() => names('gold')).toEqual([[['configmaps'], ['headers'], ['list', 'watch']]]);
    const elsewhere = { 'nginx.ingress.kubernetes.io/custom-headers': 'other/headers' };
    await world.client.patch(INGRESSES, target, 'merge', { metadata: { annotations: elsewhere } });
    await expect.poll(() => names('gold')).toBeUndefined();
  });

  it('revert manual changes of the objects of a router', async () => {
    await world.make(ingressObject('a', 'gold', ['a.example']));
    const target = { name: 'tidegate-router-gold', namespace: ROUTER_NAMESPACE };
    await eventually(async () => !(await world.isGone(DEPLOYMENTS, target.name, target.namespace)));
    await world.client.patch(DEPLOYMENTS, target, 'merge', { spec: { replicas: 7 } });
    await eventually(async () => (await world.client.get(DEPLOYMENTS, target)).spec?.replicas === 1);
    await world.remove(SERVICES, target.name, target.namespace);
    await eventually(async () => !(await world.isGone(SERVICES, target.name, target.namespace)));
  });
});

describe('validation of custom resources', () => {
  const refusal = (...objects: KubeObject[]): Promise<string> =>
    world.make(...objects).then(
      () => expect.unreachable('the API server accepted the object'),
      (error: Error) => error.message,
    );
  const router = (name: string, spec: object): KubeObject => ({
    apiVersion: 'networking.tidegate.io/v1alpha1',
    kind: 'L7Router',
    metadata: { name },
    spec,
  });

  it('requires names of parameters and limits their number', async () => {
    expect(await refusal(parametersObject('p', { '': 'x' }))).toContain('a parameter name must not be empty');
    const many = Object.fromEntries(Array.from({ length: 513 }, (_, index) => [`p${index}`, '']));
    expect(await refusal(parametersObject('p', many))).toContain('512');
  });

  it('requires a class, a driver and a name of at most 63 characters for a router', async () => {
    expect(await refusal(router('r', { driver: 'octavia' }))).toContain('spec.ingressClassName');
    const spec = { ingressClassName: 'gold', driver: 'octavia' };
    expect(await refusal(router('r', { ...spec, sharedWith: ['gold'] }))).toContain(
      'sharedWith must not contain ingressClassName',
    );
    expect(await refusal(router('r'.repeat(64), spec))).toContain('at most 63 characters');
    expect(await refusal(router('r', { ...spec, workload: { httpPort: 70_000 } }))).toContain('65535');
  });

  it('ignores routers with the driver of another provisioner', async () => {
    await world.make(router('cloud', { ingressClassName: 'gold', driver: 'octavia' }), classObject('gold'));
    await world.make(router('ours', { ingressClassName: 'gold', driver: 'embedded' }));
    await eventually(
      async () => !(await world.isGone(DEPLOYMENTS, 'tidegate-router-ours', ROUTER_NAMESPACE)),
    );
    expect(await world.isGone(DEPLOYMENTS, 'tidegate-router-cloud', ROUTER_NAMESPACE)).toBe(true);
    expect((await world.router('cloud'))?.metadata.finalizers).toBeUndefined();
  });
});
