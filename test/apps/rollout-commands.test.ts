/** `tidegate rollout` with a real server and the controllers of applications. */
import { DEPLOYMENTS, type KubeClient } from '@tidegate/kube';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { EDGE_APPLICATIONS, NODE_POOLS, YURT_APP_SETS } from '../../packages/tidegate/src/api/index.ts';
import { type EmbeddedWithKinds, startEmbeddedWithKinds } from '../support/embedded.ts';
import { finish } from '../support/process.ts';
import { PROGRAM } from '../support/repository.ts';
import { application, deployment, observe, runApplications } from './support.ts';

const namespace = 'default';
const web = (image: string) => deployment('web', { containers: [{ name: 'web', image }] });
const targets = { targetNodeGroups: [{ name: 'east', kind: 'NodePool' as const }] };

describe('tidegate rollout', () => {
  let server: EmbeddedWithKinds;
  let client: KubeClient;
  let end: () => Promise<void>;
  beforeAll(async () => {
    server = await startEmbeddedWithKinds();
    client = server.client;
    await client.create(NODE_POOLS, {
      apiVersion: 'apps.openyurt.io/v1beta2',
      kind: 'NodePool',
      metadata: { name: 'east' },
      spec: { type: 'Edge' },
    });
    end = runApplications(client);
  });
  afterAll(async () => {
    await end();
    await server.stop();
  });
  const rollout = (...args: string[]) =>
    finish([process.execPath, PROGRAM, 'rollout', ...args, '--kubeconfig', server.kubeconfig]);
  const imageBecomes = (name: string, image: string) =>
    observe(client).appears(
      DEPLOYMENTS,
      name,
      ({ spec }) => spec?.template.spec?.containers[0]?.image === image,
    );
  const becomeReady = async (name: string): Promise<void> => {
    const { metadata } = await observe(client).appears(DEPLOYMENTS, name);
    const one = { replicas: 1, updatedReplicas: 1, readyReplicas: 1, availableReplicas: 1 };
    await client.patch(DEPLOYMENTS, { name, namespace, subresource: 'status' }, 'merge', {
      status: { observedGeneration: metadata.generation, ...one },
    });
  };

  it('follows a rollout, holds and releases a site, and goes back', async () => {
    const app = application('shop', [web('web:1')], targets);
    await client.create(EDGE_APPLICATIONS, { ...app, spec: { ...app.spec, rollout: {} } });
    await imageBecomes('web-east', 'web:1');
    const following = rollout('status', 'shop');
    await becomeReady('web-east');
    const { stdout, code } = await following;
    expect(code).toBe(0);
    expect(stdout).toContain('Complete: 1 of 1 sites updated, 1 available');
    expect((await rollout('hold', 'shop', 'east')).stdout).toContain(
      'EdgeApplication default/shop holds the site east',
    );
    const manifests = [web('web:2')];
    await client.patch(EDGE_APPLICATIONS, { name: 'shop', namespace }, 'merge', {
      spec: { workloadTemplate: { manifests } },
    });
    await observe(client).appears(
      EDGE_APPLICATIONS,
      'shop',
      ({ status, metadata }) =>
        status?.rollout?.updatedSites === 0 && status.observedGeneration === metadata.generation,
    );
    await imageBecomes('web-east', 'web:1');
    await rollout('release', 'shop', 'east');
    await imageBecomes('web-east', 'web:2');
    expect((await rollout('history', 'shop')).stdout).toMatch(/REVISION +NAME +CREATED\n1 .*\n2 /);
    expect((await rollout('undo', 'shop')).stdout).toContain('has the content of revision 1');
    await imageBecomes('web-east', 'web:1');
  });

  it('goes back to a revision of a YurtAppSet', async () => {
    const workload = (image: string) => {
      const { spec } = web(image);
      return { workloadTemplate: { deploymentTemplate: { spec } } };
    };
    await client.create(YURT_APP_SETS, {
      apiVersion: 'apps.openyurt.io/v1beta1',
      kind: 'YurtAppSet',
      metadata: { name: 'set', namespace },
      spec: { pools: ['east'], workload: workload('web:1') },
    });
    await imageBecomes('set-east', 'web:1');
    await client.patch(YURT_APP_SETS, { name: 'set', namespace }, 'merge', {
      spec: { workload: workload('web:2') },
    });
    await imageBecomes('set-east', 'web:2');
    await observe(client).appears(
      YURT_APP_SETS,
      'set',
      ({ metadata, status }) => status?.observedGeneration === metadata.generation,
    );
    expect((await rollout('undo', 'yurtappset/set', '--to-revision', '1')).stdout).toContain(
      'YurtAppSet default/set has the content of revision 1',
    );
    await imageBecomes('set-east', 'web:1');
  });

  it('names what is wrong', async () => {
    const missing = await rollout('status', 'nothing');
    expect([missing.code, missing.stderr]).toEqual([
      1,
      expect.stringContaining('EdgeApplication default/nothing not found'),
    ]);
    expect((await rollout('undo', 'pod/web')).stderr).toContain('"pod/web" is not an application');
  });
});
