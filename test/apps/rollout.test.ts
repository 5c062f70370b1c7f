/** A change of an application reaches its sites in waves. */
import {
  CONTROLLER_REVISIONS,
  type ControllerRevision,
  DEPLOYMENTS,
  type Deployment,
  type KubeClient,
} from '@tidegate/kube';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  EDGE_APPLICATIONS,
  type EdgeApplication,
  NODE_POOLS,
  type Rollout,
} from '../../packages/tidegate/src/api/index.ts';
import { type EmbeddedWithKinds, startEmbeddedWithKinds } from '../support/embedded.ts';
import { application, configMap, deployment, observe, runApplications } from './support.ts';

const namespace = 'default';
const SITES = ['pilot', 'shop', 'depot'];
const targets = { targetNodeGroups: SITES.map((name) => ({ name, kind: 'NodePool' as const })) };
const waves = [
  { name: 'pilot', poolSelector: { matchLabels: { wave: 'pilot' } } },
  { name: 'shops', poolSelector: { matchLabels: { wave: 'shops' } } },
];

let server: EmbeddedWithKinds;
let client: KubeClient;
let end: () => Promise<void>;
beforeAll(async () => {
  server = await startEmbeddedWithKinds();
  client = server.client;
  const labels: Record<string, Record<string, string>> = {
    pilot: { wave: 'pilot' },
    shop: { wave: 'shops' },
  };
  for (const name of SITES)
    await client.create(NODE_POOLS, {
      apiVersion: 'apps.openyurt.io/v1beta2',
      kind: 'NodePool',
      metadata: { name, labels: labels[name] ?? {} },
      spec: { type: 'Edge' },
    });
  end = runApplications(client);
});
afterAll(async () => {
  await end();
  await server.stop();
});

const imageIn = ({ spec }: Deployment): string => `${spec?.template.spec?.containers[0]?.image}`;
const web = (name: string, image: string) => deployment(name, { containers: [{ name: 'web', image }] });

/** The application `name` with one Deployment, and the state of its sites. */
const rolling = (name: string) => {
  const { appears, find } = observe(client);
  const images = async (): Promise<string[]> =>
    Promise.all(
      SITES.map(async (site) => {
        const found = await find(DEPLOYMENTS, `${name}-${site}`);
        return found === undefined ? '' : imageIn(found);
      }),
    );
  return {
    images,
    create: (image: string, rollout?: Rollout) => {
      const app = application(name, [web(name, image), configMap(`${name}-menu`, { image })], targets);
      return client.create(EDGE_APPLICATIONS, {
        ...app,
        spec: { ...app.spec, ...(rollout && { rollout }) },
      });
    },
    change: (image: string) =>
      client.patch(EDGE_APPLICATIONS, { name, namespace }, 'merge', {
        spec: {
          workloadTemplate: { manifests: [web(name, image), configMap(`${name}-menu`, { image })] },
        },
      }),
    set: (rollout: Rollout) =>
      client.patch(EDGE_APPLICATIONS, { name, namespace }, 'merge', { spec: { rollout } }),
    /** As the controller of Deployments writes it when all pods of the image are ready. */
    becomeReady: async (site: string, image: string): Promise<void> => {
      const { metadata, spec } = await appears(
        DEPLOYMENTS,
        `${name}-${site}`,
        (found) => imageIn(found) === image,
      );
      const count = spec?.replicas ?? 1;
      await client.patch(
        DEPLOYMENTS,
        { name: `${name}-${site}`, namespace, subresource: 'status' },
        'merge',
        {
          status: {
            observedGeneration: metadata.generation,
            replicas: count,
            updatedReplicas: count,
            readyReplicas: count,
            availableReplicas: count,
          },
        },
      );
    },
    reaches: (text: string): Promise<EdgeApplication> =>
      appears(EDGE_APPLICATIONS, name, ({ metadata, status }) => {
        const { phase, waveName } = status?.rollout ?? {};
        return `${phase} ${waveName}` === text && status?.observedGeneration === metadata.generation;
      }),
  };
};

describe('a rollout', () => {
  it('reaches the sites in waves, stops, resumes, and goes back', async () => {
    const { find } = observe(client);
    const { create, change, set, becomeReady, reaches, images } = rolling('app');
    await create('web:1', { waves });
    for (const site of SITES) await becomeReady(site, 'web:1');
    await reaches('Complete others');

    await change('web:2');
    await reaches('Progressing pilot');
    // The status can be ahead of the Deployments of the wave.
    await expect.poll(images).toEqual(['web:2', 'web:1', 'web:1']);
    const menu = async () =>
      (await find({ group: '', version: 'v1', resource: 'configmaps', namespaced: true }, 'app-menu'))?.data;
    expect(await menu()).toEqual({ image: 'web:1' });
    // A Deployment of a site that was not reached is repaired with its own revision.
    await client.delete(DEPLOYMENTS, { name: 'app-depot', namespace });
    await becomeReady('depot', 'web:1');
    await becomeReady('pilot', 'web:2');
    await reaches('Progressing shops');
    await expect.poll(images).toEqual(['web:2', 'web:2', 'web:1']);

    // The shop does not become available in time.
    await set({ waves, deadlineSeconds: 1 });
    const { status } = await reaches('Stopped shops');
    expect(status?.conditions?.[0]).toMatchObject({ status: 'False', reason: 'RolloutStopped' });
    expect(await images()).toEqual(['web:2', 'web:2', 'web:1']);
    // It comes back.
    await set({ waves, deadlineSeconds: 600 });
    await becomeReady('shop', 'web:2');
    await becomeReady('depot', 'web:2');
    await reaches('Complete others');
    expect(await menu()).toEqual({ image: 'web:2' });

    // A bad change reaches the first wave only, and the way back has no waves.
    await change('web:3');
    await reaches('Progressing pilot');
    expect(await images()).toEqual(['web:3', 'web:2', 'web:2']);
    await change('web:2');
    await becomeReady('pilot', 'web:2');
    await reaches('Complete others');
    expect(await images()).toEqual(['web:2', 'web:2', 'web:2']);
  });

  it('pauses after a wave, and leaves out held sites until they are released', async () => {
    const { create, change, set, becomeReady, reaches, images } = rolling('held');
    await create('web:1', { waves });
    for (const site of SITES) await becomeReady(site, 'web:1');
    await reaches('Complete others');
    const [pilot, shops] = waves;
    await set({ waves: [{ ...pilot!, pause: true }, shops!], hold: ['depot'] });
    await change('web:2');
    await becomeReady('pilot', 'web:2');
    await reaches('Paused pilot');
    expect(await images()).toEqual(['web:2', 'web:1', 'web:1']);
    await set({ waves, hold: ['depot'] });
    await becomeReady('shop', 'web:2');
    const { status } = await reaches('Complete others');
    expect(status?.rollout).toMatchObject({ updatedSites: 2, totalSites: 3, held: [{ name: 'depot' }] });
    expect(await images()).toEqual(['web:2', 'web:2', 'web:1']);
    await set({ waves, hold: [] });
    await becomeReady('depot', 'web:2');
  });

  it('keeps what runs if it is added together with a change', async () => {
    const { create, becomeReady, images } = rolling('late');
    await create('web:1');
    for (const site of SITES) await becomeReady(site, 'web:1');
    await observe(client).readyBecomes('late', /^True /);
    await client.patch(EDGE_APPLICATIONS, { name: 'late', namespace }, 'merge', {
      spec: {
        workloadTemplate: { manifests: [web('late', 'web:2')] },
        rollout: { waves, hold: ['shop'] },
      },
    });
    await becomeReady('pilot', 'web:2');
    await becomeReady('depot', 'web:2');
    expect(await images()).toEqual(['web:2', 'web:1', 'web:2']);
  });

  it('ignores a revision that a user has replaced, after a restart of the manager', async () => {
    const { create, change, becomeReady, reaches, images } = rolling('forged');
    await create('web:1', { waves });
    for (const site of SITES) await becomeReady(site, 'web:1');
    await reaches('Complete others');
    await change('web:2');
    const { status } = await reaches('Progressing pilot');
    await end();
    const name = `${status?.rollout?.stableRevision}`;
    const { data, ...revision } = await client.get(CONTROLLER_REVISIONS, { name, namespace });
    await client.delete(CONTROLLER_REVISIONS, { name, namespace });
    const evil = JSON.parse(JSON.stringify(data).replaceAll('web:1', 'evil:1')) as ControllerRevision['data'];
    const { labels, ownerReferences } = revision.metadata;
    const foreign = { apiVersion: 'apps/v1', kind: 'ControllerRevision', data: evil };
    const meta = { namespace, labels, ownerReferences };
    await client.create(CONTROLLER_REVISIONS, { ...foreign, metadata: { ...meta, name }, revision: 1 });
    // Of another controller: a user that may label it, but not delete it, must not make the manager delete it.
    for (let number = 2; number < 20; number++)
      await client.create(CONTROLLER_REVISIONS, {
        ...foreign,
        metadata: { ...meta, name: `daemon-${number}` },
        revision: 0,
      });
    end = runApplications(client);
    await becomeReady('pilot', 'web:2');
    await reaches('Progressing shops');
    await expect.poll(images).toEqual(['web:2', 'web:2', 'web:1']);
    await becomeReady('shop', 'web:2');
    await becomeReady('depot', 'web:2');
    await reaches('Complete others');
    await change('web:3');
    await reaches('Progressing pilot');
    const { items } = await client.list(CONTROLLER_REVISIONS, { namespace });
    expect(items.filter((one) => `${one.metadata.name}`.startsWith('daemon-'))).toHaveLength(18);
  });
});
