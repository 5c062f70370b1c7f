import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { L7_ROUTERS } from '../../src/api/index.ts';
import { INGRESS_CLASSES, NAMESPACES } from '../../src/kube/index.ts';
import { type EmbeddedWithKinds, startEmbeddedWithKinds } from '../support/embedded.ts';
import { World } from './world.ts';

let server: EmbeddedWithKinds;
let world: World;
beforeAll(async () => {
  server = await startEmbeddedWithKinds();
  world = new World(server.client);
});
afterAll(() => server.stop());
beforeEach(() => world.start());
afterEach(async () => {
  await world.clear();
  await world.stop();
});

describe('a YurtIngress', () => {
  it('gives each of its pools a class and a router of the same name', async () => {
    await world.makePool('hangzhou');
    await world.makePool('beijing');
    await world.make('doors', {
      ingress_controller_replicas_per_pool: 2,
      pools: [{ name: 'hangzhou', ingress_ips: ['192.0.2.7'] }, { name: 'beijing' }],
    });
    const { router, ingressClass } = await world.door('hangzhou');
    expect(ingressClass.spec).toEqual({ controller: 'tidegate.io/nginx' });
    expect(router.spec).toEqual({
      ingressClassName: 'hangzhou',
      driver: 'nginx',
      pool: 'hangzhou',
      workload: {
        namespace: 'ingress-nginx',
        replicas: 2,
        serviceType: 'NodePort',
        addresses: ['192.0.2.7'],
      },
    });
    expect((await world.door('beijing')).router.spec.workload).toEqual({
      namespace: 'ingress-nginx',
      replicas: 2,
      serviceType: 'NodePort',
    });
    expect((await server.client.get(NAMESPACES, { name: 'ingress-nginx' })).kind).toBe('Namespace');
    await world.becomes('doors', 'hangzhou Pending Progressing, beijing Pending Progressing');
    await world.tell('hangzhou', 'True');
    await world.becomes('doors', 'hangzhou, beijing Pending Progressing');
    await world.tell('beijing', 'True');
    const { status } = await world.becomes('doors', 'hangzhou, beijing');
    expect(status).toMatchObject({
      ingress_controller_replicas_per_pool: 2,
      ingress_controller_image: 'tidegate:test',
      ingress_webhook_certgen_image: '',
      readyNum: 2,
      unreadyNum: 0,
      observedGeneration: 1,
    });
  });

  it('goes when its front doors were seen to be gone, and not before', async () => {
    await world.makePool('hangzhou');
    await world.make('doors', { pools: [{ name: 'hangzhou' }] });
    await world.door('hangzhou');
    const hold = { metadata: { finalizers: ['test.tidegate.io/hold'] } };
    await server.client.patch(L7_ROUTERS, { name: 'hangzhou' }, 'merge', hold);
    await world.deleteYurtIngress('doors');
    await world.isGone(INGRESS_CLASSES, 'hangzhou');
    await world.becomes('doors', 'hangzhou Pending Terminating');
    await server.client.patch(L7_ROUTERS, { name: 'hangzhou' }, 'merge', { metadata: { finalizers: null } });
    await world.isGone(L7_ROUTERS, 'hangzhou');
  });
});
