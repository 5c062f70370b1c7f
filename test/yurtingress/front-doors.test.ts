import { INGRESS_CLASSES, isNotFound, type KubeClient, NAMESPACES, type Resource } from '@tidegate/kube';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { L7_ROUTERS, YURT_INGRESSES } from '../../packages/tidegate/src/api/index.ts';
import { type EmbeddedWithKinds, startEmbeddedWithKinds } from '../support/embedded.ts';
import { eventually } from '../support/patience.ts';
import { INGRESS_NGINX_IMAGE, World } from './world.ts';

let server: EmbeddedWithKinds;
let client: KubeClient;
let world: World;
beforeAll(async () => {
  server = await startEmbeddedWithKinds();
  client = server.client;
  world = new World(client);
  await world.start();
});
afterAll(async () => {
  await world.stop();
  await server.stop();
});

/** Creates pools. Every test has its own pools, so it does not need to delete them. */
const pools = async (...names: string[]): Promise<{ name: string }[]> => {
  await Promise.all(names.map((name) => world.makePool(name)));
  return names.map((name) => ({ name }));
};

describe.concurrent('a YurtIngress', () => {
  it('creates a class and a router for each pool, with the name of the pool', async () => {
    await pools('hangzhou', 'beijing');
    await world.make('doors', {
      ingress_controller_replicas_per_pool: 2,
      pools: [{ name: 'hangzhou', ingress_ips: ['192.0.2.7'] }, { name: 'beijing' }],
    });
    const { router, ingressClass } = await world.door('hangzhou');
    expect(ingressClass.spec).toEqual({ controller: 'tidegate.io/nginx' });
    const workload = { namespace: 'ingress-nginx', replicas: 2, serviceType: 'NodePort' };
    expect(router.spec).toEqual({
      ingressClassName: 'hangzhou',
      driver: 'nginx',
      pool: 'hangzhou',
      workload: { ...workload, addresses: ['192.0.2.7'] },
    });
    expect((await world.door('beijing')).router.spec.workload).toEqual(workload);
  });

  it('is ready when all its front doors are ready', async () => {
    await world.make('readiness', { pools: await pools('r1', 'r2') });
    await world.becomes('readiness', 'r1 Pending Progressing, r2 Pending Progressing');
    await world.setReady('r1', 'True');
    const half = await world.becomes('readiness', 'r1, r2 Pending Progressing');
    expect(world.ready(half)).toBe(
      'False Progressing: r2: L7Router r2 is waiting for the provisioner of nginx',
    );
    await world.setReady('r2', 'True');
    const whole = await world.becomes('readiness', 'r1, r2');
    expect(world.ready(whole)).toBe('True FrontDoorsReady: 2 of 2 front doors are ready');
    expect(whole.status).toMatchObject({
      observedGeneration: 1,
      ingress_controller_replicas_per_pool: 1,
      ingress_controller_image: 'tidegate:test',
      ingress_webhook_certgen_image: '',
      readyNum: 2,
      unreadyNum: 0,
    });
  });

  it('reports a failing pool, while the others stay ready', async () => {
    await world.make('failing', { pools: await pools('f1', 'f2') });
    await world.setReady('f1', 'True');
    await world.setReady('f2', 'False', 'ImagePullBackOff', 'pod f2-x, container router: no such image');
    const { status } = await world.becomes('failing', 'f1, f2 Failure ImagePullBackOff');
    expect(status?.conditions?.unreadypools?.[0]?.unreadyinfo.message).toContain(
      'pod f2-x, container router',
    );
    await eventually(async () =>
      (await world.eventsOf('failing')).includes(
        'ImagePullBackOff: f2: pod f2-x, container router: no such image',
      ),
    );
  });

  it('accepts camelCase fields, as in releases of OpenYurt', async () => {
    await pools('camel');
    await world.make('shipped', {
      ingressControllerReplicasPerPool: 3,
      ingressControllerImage: 'example/router:1',
      ingressWebhookCertGenImage: 'example/certgen:1',
      pools: [{ name: 'camel', ingressIPs: ['192.0.2.9'] }],
    });
    const { router } = await world.door('camel');
    expect(router.spec.workload).toMatchObject({
      replicas: 3,
      image: 'example/router:1',
      addresses: ['192.0.2.9'],
    });
    const { status } = await world.becomes('shipped', 'camel Pending Progressing');
    expect(status).toMatchObject({
      ingress_controller_replicas_per_pool: 3,
      ingress_controller_image: 'example/router:1',
      ingress_webhook_certgen_image: 'example/certgen:1',
    });
  });

  it('is rejected if its two spellings differ, or if a pool appears twice', async () => {
    await expect(
      world.make('twice', { ingress_controller_image: 'a', ingressControllerImage: 'b' }),
    ).rejects.toThrow('have the same meaning but different values: set ingress_controller_image only');
    await expect(world.make('twice', { pools: [{ name: 'x' }, { name: 'x' }] })).rejects.toThrow(
      /Duplicate value/,
    );
  });

  it('gives each class its own controller name if the flavor is ingress-nginx', async () => {
    await world.make('upstream', { pools: await pools('u1') });
    expect((await world.door('u1')).ingressClass.spec).toEqual({ controller: 'tidegate.io/nginx' });
    await world.change('upstream', {
      ingress_controller_flavor: 'ingress-nginx',
      ingress_controller_image: INGRESS_NGINX_IMAGE,
    });
    await eventually(
      async () => (await world.door('u1')).ingressClass.spec?.controller === 'ingress-nginx.tidegate.io/u1',
    );
    expect((await world.door('u1')).router.spec).toMatchObject({
      driver: 'ingress-nginx',
      workload: { image: INGRESS_NGINX_IMAGE },
    });
  });

  it('reports a pool that does not exist, and creates the front door when the pool is created', async () => {
    await world.make('early', { pools: [{ name: 'later' }] });
    await world.becomes('early', 'later Failure PoolNotFound');
    expect(await world.find(L7_ROUTERS, 'later')).toBeUndefined();
    await world.makePool('later');
    await world.door('later');
  });

  it('never changes a class that is not part of a front door', async () => {
    const [{ name } = { name: '' }] = await pools('taken');
    const ingressClass = {
      apiVersion: 'networking.k8s.io/v1',
      kind: 'IngressClass',
      metadata: { name },
      spec: { controller: 'example.com/other' },
    };
    await client.create(INGRESS_CLASSES, ingressClass);
    await world.make('newcomer', { pools: [{ name }] });
    await world.becomes('newcomer', 'taken Failure ClassTaken');
    expect(await world.find(L7_ROUTERS, name)).toBeUndefined();
    await client.delete(INGRESS_CLASSES, { name });
    expect((await world.door(name)).ingressClass.spec?.controller).toBe('tidegate.io/nginx');
  });
});

describe.concurrent('front doors of other pools', () => {
  const versions = async (...names: string[]): Promise<unknown[]> =>
    (await Promise.all(names.map((name) => world.door(name)))).flatMap(({ router, ingressClass }) => [
      router.metadata.resourceVersion,
      ingressClass.metadata.resourceVersion,
    ]);

  it('are not changed when a pool gets an address, is added, or is removed', async () => {
    const [a, b, c] = await pools('a', 'b', 'c');
    await world.make('many', { pools: [a!, b!] });
    const before = await versions('b');
    await world.change('many', { pools: [{ name: 'a', ingress_ips: ['192.0.2.1'] }, b, c] });
    await eventually(
      async () => (await world.door('a')).router.spec.workload?.addresses?.[0] === '192.0.2.1',
    );
    await world.door('c');
    await world.change('many', { pools: [b] });
    await world.isGone(L7_ROUTERS, 'a');
    await world.isGone(L7_ROUTERS, 'c');
    expect(await versions('b')).toEqual(before);
  });

  it('are not changed by replicas and images of another YurtIngress', async () => {
    const [d, e] = await pools('d', 'e');
    await world.make('first', { pools: [d!] });
    await world.make('second', { pools: [e!] });
    const before = await versions('e');
    await world.change('first', {
      ingress_controller_replicas_per_pool: 5,
      ingress_controller_image: 'example/x:2',
    });
    await eventually(async () => {
      const { workload } = (await world.door('d')).router.spec;
      return workload?.replicas === 5 && workload.image === 'example/x:2';
    });
    expect(await versions('e')).toEqual(before);
  });
});

describe.concurrent('a pool in two YurtIngresses', () => {
  it('stays with the first, and is handed over without downtime when the first removes it', async () => {
    const [pool] = await pools('wanted');
    await world.make('holder', { pools: [pool!] });
    const { router, ingressClass } = await world.door('wanted');
    await world.make('waiting', { pools: [pool!] });
    await world.becomes('waiting', 'wanted Failure PoolTaken');
    await world.change('holder', { pools: [] });
    await world.becomes('waiting', 'wanted Pending Progressing');
    const after = await world.door('wanted');
    expect([after.router.metadata.uid, after.ingressClass.metadata.uid]).toEqual([
      router.metadata.uid,
      ingressClass.metadata.uid,
    ]);
    await world.deleteYurtIngress('holder');
    await world.isGone(YURT_INGRESSES, 'holder');
  });

  it('keeps its router if one YurtIngress is deleted and another adds the pool shortly after', async () => {
    const [pool] = await pools('moved');
    await world.make('from', { pools: [pool!] });
    const { router } = await world.door('moved');
    await Promise.all([world.deleteYurtIngress('from'), world.make('to', { pools: [pool!] })]);
    await world.isGone(YURT_INGRESSES, 'from');
    const { metadata, spec } = (await world.door('moved')).router;
    expect(metadata).toMatchObject({
      uid: router.metadata.uid,
      labels: { 'apps.openyurt.io/yurtingress': 'to' },
    });
    expect(spec).toEqual(router.spec);
  });
});

describe.concurrent('cases that other implementations of YurtIngress got wrong', () => {
  it('the finalizer stays until the front doors are gone', async () => {
    await world.make('ending', { pools: await pools('end') });
    await world.door('end');
    await client.patch(L7_ROUTERS, { name: 'end' }, 'merge', {
      metadata: { finalizers: ['test.tidegate.io/hold'] },
    });
    await world.deleteYurtIngress('ending');
    await world.isGone(INGRESS_CLASSES, 'end');
    const { metadata } = await world.becomes('ending', 'end Pending Terminating');
    expect(metadata.finalizers).toEqual(['apps.openyurt.io/yurtingress-controller']);
    await client.patch(L7_ROUTERS, { name: 'end' }, 'merge', { metadata: { finalizers: null } });
    await world.isGone(YURT_INGRESSES, 'ending');
  });

  it('with the finalizer of OpenYurt is deleted: nothing else removes it after the migration', async () => {
    await world.make('migrated', { pools: await pools('from-openyurt') });
    await world.door('from-openyurt');
    await client.patch(YURT_INGRESSES, { name: 'migrated' }, 'merge', {
      metadata: { finalizers: ['ingress.operator.openyurt.io', 'apps.openyurt.io/yurtingress-controller'] },
    });
    await world.deleteYurtIngress('migrated');
    await world.isGone(L7_ROUTERS, 'from-openyurt');
    await world.isGone(YURT_INGRESSES, 'migrated');
  });

  it('drift and deleted objects are corrected without a change of the spec', async () => {
    await world.make('drift', { pools: await pools('drifting') });
    const { router, ingressClass } = await world.door('drifting');
    await client.patch(L7_ROUTERS, { name: 'drifting' }, 'merge', {
      metadata: { labels: null, annotations: { note: 'mine' } },
      spec: { hosts: ['only.example.com'], workload: { replicas: 9 } },
    });
    const corrected = await eventually(async () => {
      const { metadata, spec } = (await world.door('drifting')).router;
      return metadata.labels !== undefined && spec.hosts === undefined && { metadata, spec };
    });
    expect(corrected).toMatchObject({ metadata: { annotations: { note: 'mine' } }, spec: router.spec });
    await client.delete(INGRESS_CLASSES, { name: 'drifting' });
    await eventually(
      async () => (await world.door('drifting')).ingressClass.metadata.uid !== ingressClass.metadata.uid,
    );
    await client.delete(L7_ROUTERS, { name: 'drifting' });
    await eventually(async () => (await world.door('drifting')).router.metadata.uid !== router.metadata.uid);
  });

  it('the status is written while another client updates the object constantly', async () => {
    await world.make('busy', { pools: await pools('busy') });
    await world.door('busy');
    let writing = true;
    const others = (async () => {
      for (let i = 0; writing; i++) {
        await client.patch(YURT_INGRESSES, { name: 'busy' }, 'merge', {
          metadata: { annotations: { i: `${i}` } },
        });
      }
    })();
    await world.setReady('busy', 'True');
    await world.becomes('busy', 'busy');
    writing = false;
    await others;
  });

  it('a router with the label of a YurtIngress that does not list its pool is deleted', async () => {
    await world.make('tidy', { pools: await pools('tidy-1') });
    const { router } = await world.door('tidy-1');
    const { apiVersion, kind, metadata, spec } = router;
    const stray = { name: 'stray', labels: metadata.labels };
    await client.create(L7_ROUTERS, { apiVersion, kind, metadata: stray, spec });
    await world.isGone(L7_ROUTERS, 'stray');
    await world.setReady('tidy-1', 'True');
    await world.becomes('tidy', 'tidy-1');
  });

  it('a YurtIngress can be deleted after its NodePool was deleted', async () => {
    await world.make('orphan', { pools: await pools('vanishing') });
    await world.door('vanishing');
    await world.deletePool('vanishing');
    await world.becomes('orphan', 'vanishing Failure PoolNotFound');
    await world.door('vanishing');
    await world.deleteYurtIngress('orphan');
    await world.isGone(YURT_INGRESSES, 'orphan');
    for (const resource of [L7_ROUTERS, INGRESS_CLASSES] as Resource[]) {
      await expect(client.get(resource, { name: 'vanishing' })).rejects.toSatisfy(isNotFound);
    }
  });

  it('the namespace is created again after it was deleted', async () => {
    await world.make('spaces', { pools: await pools('space') });
    await world.door('space');
    const { metadata } = await client.get(NAMESPACES, { name: 'ingress-nginx' });
    await client.delete(NAMESPACES, { name: 'ingress-nginx' });
    await client
      .update(
        NAMESPACES,
        {
          apiVersion: 'v1',
          kind: 'Namespace',
          metadata: { name: 'ingress-nginx' },
          spec: { finalizers: [] },
        },
        { subresource: 'finalize' },
      )
      .catch((error: unknown) => {
        if (!isNotFound(error)) throw error;
      });
    await eventually(async () => {
      const found = await world.find(NAMESPACES, 'ingress-nginx');
      return found !== undefined && found.metadata.uid !== metadata.uid;
    });
  });
});
