/** Applications on a real API server, with the permissions of deploy/base only: what is forbidden or immutable stops nothing. */
import type { KubeObject } from '@tidegate/kube';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { EdgeApplication } from '../../packages/tidegate/src/api/index.ts';
import { application, configMap, deployment, readyText } from '../apps/support.ts';
import { eventually } from '../support/cluster.ts';
import { ApplicationsWorld } from './support/applications.ts';
import type { ControlPlane } from './support/control-plane.ts';

const targets = { targetNodeGroups: [{ name: 'hangzhou' }] };
const job = (image: string) => ({
  apiVersion: 'batch/v1',
  kind: 'Job',
  metadata: { name: 'fill' },
  spec: { template: { spec: { restartPolicy: 'Never', containers: [{ name: 'c', image }] } } },
});
const secret = {
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: { name: 'word' },
  stringData: { word: 'sesame' },
};

describe('applications on a real API server', () => {
  let world: ApplicationsWorld;
  let cloud: ControlPlane;
  beforeAll(async () => {
    world = await ApplicationsWorld.create();
    cloud = world.cloud;
    await world.start();
    await cloud.kubectl.apply({
      apiVersion: 'apps.kubeedge.io/v1alpha1',
      kind: 'NodeGroup',
      metadata: { name: 'hangzhou' },
      spec: {},
    });
    await world.startManager();
  });
  afterAll(async () => {
    await world?.remove();
  });

  const get = <T>(what: string, namespace: string): Promise<T> => world.get(what, namespace);
  const isGone = (what: string): Promise<void> => world.isGone(what);
  const readyBecomes = (name: string, namespace: string, text: RegExp): Promise<unknown> =>
    eventually(`${name} is ${text}`, async () => {
      const found = readyText(await get<EdgeApplication>(`edgeapplication ${name}`, namespace));
      if (!text.test(found)) throw new Error(found);
      return true;
    });
  const grant = (namespace: string): Promise<void> => world.grant(namespace);

  it('applies and deletes the rest of an application with an object that it may not apply', async () => {
    await grant('mixed');
    await cloud.kubectl.apply(
      application('shop', [secret, configMap('menu'), deployment()], targets, 'mixed'),
    );
    await readyBecomes(
      'shop',
      'mixed',
      /False ApplyFailed: Secret mixed\/word: .*kubectl create clusterrole/,
    );
    await get('configmap menu', 'mixed');
    await get('deployment web-hangzhou', 'mixed');
    await cloud.kubectl.run('delete configmap menu -n mixed');
    await eventually('menu is repaired', async () => get('configmap menu', 'mixed'));
    await cloud.kubectl.run('delete edgeapplication shop -n mixed');
    await isGone('configmap menu -n mixed');
    await isGone('deployment web-hangzhou -n mixed');
  });

  it('does not hold a namespace that is deleted with its role bindings', async () => {
    await grant('ending');
    await cloud.kubectl.apply(application('shop', [configMap('menu'), deployment()], targets, 'ending'));
    await eventually('web-hangzhou exists', async () => get('deployment web-hangzhou', 'ending'));
    await cloud.kubectl.run('delete rolebinding tidegate-apps -n ending');
    await cloud.kubectl.run('delete namespace ending --wait=false');
    await isGone('namespace ending');
  });

  it('takes over a Deployment without a new revision, and creates a changed Job again', async () => {
    await grant('taken');
    const { kubectl } = cloud;
    const live = deployment('web', { nodeSelector: { 'apps.kubeedge.io/belonging-to': 'hangzhou' } });
    await kubectl.apply({
      ...live,
      metadata: {
        name: 'web-hangzhou',
        namespace: 'taken',
        labels: {
          'groupmanagement.kubeedge.io/edgeapplication-name': 'shop',
          'apps.tidegate.io/edgeapplication-namespace': 'taken',
        },
      },
    });
    const before = await get<KubeObject>('deployment web-hangzhou', 'taken');
    await kubectl.apply(application('shop', [deployment(), job('fill:1')], targets, 'taken'));
    await eventually('fill exists', async () => get('job fill-hangzhou', 'taken'));
    await readyBecomes('shop', 'taken', /False Progressing/);
    const after = await get<KubeObject>('deployment web-hangzhou', 'taken');
    expect(after.metadata.uid).toBe(before.metadata.uid);
    expect((after.spec as { template: unknown }).template).toEqual(
      (before.spec as { template: unknown }).template,
    );
    await kubectl.apply(application('shop', [deployment(), job('fill:2')], targets, 'taken'));
    await eventually('fill is created again', async () => {
      const { spec } = await get<KubeObject>('job fill-hangzhou', 'taken');
      return JSON.stringify(spec).includes('fill:2');
    });
  });
});
