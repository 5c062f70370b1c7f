/** What other clients add to the objects of an application: `spec.driftPolicy`. */
import { DEPLOYMENTS, type Deployment, getCondition, type KubeClient, type Resource } from '@tidegate/kube';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  type DriftPolicy,
  EDGE_APPLICATION_LABEL,
  EDGE_APPLICATION_NAMESPACE_LABEL,
  EDGE_APPLICATIONS,
  NODE_GROUPS,
} from '../../packages/tidegate/src/api/index.ts';
import { type EmbeddedWithKinds, startEmbeddedWithKinds } from '../support/embedded.ts';
import { eventually } from '../support/patience.ts';
import { application, deployment, entryOf, observe, runApplications } from './support.ts';

const namespace = 'default';
const AUTOSCALERS: Resource = {
  group: 'autoscaling',
  version: 'v2',
  resource: 'horizontalpodautoscalers',
  namespaced: true,
};
const EVENTS: Resource = { group: '', version: 'v1', resource: 'events', namespaced: true };
const ADDED = 'spec.template.spec.containers[name="web"].env[name="DEBUG"]';

describe('fields that other clients add to an edition', () => {
  let server: EmbeddedWithKinds;
  let client: KubeClient;
  let end: () => Promise<void> = async () => undefined;
  beforeAll(async () => {
    server = await startEmbeddedWithKinds();
    client = server.client;
    await client.create(NODE_GROUPS, {
      apiVersion: 'apps.kubeedge.io/v1alpha1',
      kind: 'NodeGroup',
      metadata: { name: 'hangzhou' },
      spec: {},
    });
    end = runApplications(client);
  });
  afterAll(async () => {
    await end();
    await server.stop();
  });

  const env = ({ spec }: Deployment) => spec?.template?.spec?.containers?.[0]?.env?.map(({ name }) => name);
  /** As `kubectl set env` does. */
  const setEnv = (name: string) =>
    client.patch(
      DEPLOYMENTS,
      { name: `${name}-hangzhou`, namespace },
      'strategic',
      {
        spec: { template: { spec: { containers: [{ name: 'web', env: [{ name: 'DEBUG', value: '1' }] }] } } },
      },
      { fieldManager: 'kubectl-set' },
    );
  const scale = (name: string) =>
    client.patch(
      DEPLOYMENTS,
      { name: `${name}-hangzhou`, namespace, subresource: 'scale' },
      'merge',
      { spec: { replicas: 4 } },
      { fieldManager: 'kubectl' },
    );
  const deploy = async (name: string, driftPolicy?: DriftPolicy) => {
    const app = application(name, [deployment(name)], { targetNodeGroups: [{ name: 'hangzhou' }] });
    await client.create(EDGE_APPLICATIONS, {
      ...app,
      spec: { ...app.spec, ...(driftPolicy && { driftPolicy }) },
    });
    await observe(client).appears(DEPLOYMENTS, `${name}-hangzhou`);
  };
  const setPolicy = (name: string, driftPolicy: DriftPolicy) =>
    client.patch(EDGE_APPLICATIONS, { name, namespace }, 'merge', { spec: { driftPolicy } });
  const driftBecomes = (name: string, text: RegExp) =>
    observe(client).appears(EDGE_APPLICATIONS, name, ({ metadata, status }) => {
      const { status: value, reason, message } = getCondition(status?.conditions, 'Drifted') ?? {};
      return (
        status?.observedGeneration === metadata.generation && text.test(`${value} ${reason}: ${message}`)
      );
    });
  const eventAppears = (name: string, reason: string): Promise<string> =>
    eventually(async () => {
      const { items } = await client.list(EVENTS, { namespace });
      const events = items as unknown as {
        involvedObject: { name: string };
        reason: string;
        message: string;
      }[];
      return events.find((event) => event.involvedObject.name === name && event.reason === reason)?.message;
    });

  it('are reported with their manager, and stay', async () => {
    await deploy('reported', 'Report');
    await driftBecomes('reported', /^False NoDrift/);
    await setEnv('reported');
    const app = await driftBecomes('reported', /^True DriftDetected: Deployment default\/reported-hangzhou/);
    expect(entryOf(app, 'reported-hangzhou')?.drift).toEqual([{ field: ADDED, manager: 'kubectl-set' }]);
    expect(await eventAppears('reported', 'DriftDetected')).toContain(`${ADDED} was added by kubectl-set`);
    expect(env(await client.get(DEPLOYMENTS, { name: 'reported-hangzhou', namespace }))).toEqual(['DEBUG']);
  });

  it('are removed, and an event names the field and the manager', async () => {
    await deploy('reverted', 'Revert');
    await driftBecomes('reverted', /^False NoDrift/);
    await setEnv('reverted');
    await observe(client).appears(
      DEPLOYMENTS,
      'reverted-hangzhou',
      (found) => (env(found) ?? []).length === 0,
    );
    expect(await eventAppears('reverted', 'DriftReverted')).toContain(`${ADDED}, which kubectl-set added`);
    await driftBecomes('reverted', /^False NoDrift/);
  });

  it('stay without a report by default, until the policy changes', async () => {
    await deploy('ignored');
    await setEnv('ignored');
    await observe(client).readyBecomes('ignored', /./);
    const before = await client.get(EDGE_APPLICATIONS, { name: 'ignored', namespace });
    expect(getCondition(before.status?.conditions, 'Drifted')).toBeUndefined();
    expect(entryOf(before, 'ignored-hangzhou')?.drift).toBeUndefined();
    await setPolicy('ignored', 'Report');
    await driftBecomes('ignored', /^True DriftDetected/);
    await setPolicy('ignored', 'Revert');
    await observe(client).appears(
      DEPLOYMENTS,
      'ignored-hangzhou',
      (found) => (env(found) ?? []).length === 0,
    );
    await driftBecomes('ignored', /^False NoDrift/);
    await setPolicy('ignored', 'Ignore');
    const after = await observe(client).appears(
      EDGE_APPLICATIONS,
      'ignored',
      ({ status }) => getCondition(status?.conditions, 'Drifted') === undefined,
    );
    expect(entryOf(after, 'ignored-hangzhou')?.drift).toBeUndefined();
  });

  it('contain replicas that a user set, unless an autoscaler targets the workload', async () => {
    await deploy('scaled', 'Report');
    await deploy('auto', 'Report');
    await client.create(AUTOSCALERS, {
      apiVersion: 'autoscaling/v2',
      kind: 'HorizontalPodAutoscaler',
      metadata: { name: 'auto', namespace },
      spec: {
        maxReplicas: 5,
        scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'auto-hangzhou' },
      },
    } as never);
    for (const name of ['auto', 'scaled']) await driftBecomes(name, /^False NoDrift/);
    await scale('auto');
    await setEnv('auto');
    await scale('scaled');
    const scaled = await driftBecomes('scaled', /^True DriftDetected/);
    expect(entryOf(scaled, 'scaled-hangzhou')?.drift).toEqual([
      { field: 'spec.replicas', manager: 'kubectl' },
    ]);
    const auto = await driftBecomes('auto', /^True DriftDetected/);
    expect(entryOf(auto, 'auto-hangzhou')?.drift).toEqual([{ field: ADDED, manager: 'kubectl-set' }]);
  });

  it('do not contain defaults of an object that another client created', async () => {
    const live = deployment('taken', { terminationGracePeriodSeconds: 5 });
    const labels = { [EDGE_APPLICATION_LABEL]: 'taken', [EDGE_APPLICATION_NAMESPACE_LABEL]: namespace };
    await client.create(
      DEPLOYMENTS,
      { ...live, metadata: { name: 'taken-hangzhou', namespace, labels } },
      { fieldManager: 'kubectl-create' },
    );
    await deploy('taken', 'Report');
    const field = 'spec.template.spec.terminationGracePeriodSeconds';
    const app = await driftBecomes('taken', /^True DriftDetected/);
    expect(entryOf(app, 'taken-hangzhou')?.drift).toEqual([{ field, manager: 'kubectl-create' }]);
    await setPolicy('taken', 'Revert');
    await driftBecomes('taken', /^False NoDrift/);
    const { spec } = await client.get(DEPLOYMENTS, { name: 'taken-hangzhou', namespace });
    expect(spec?.template?.spec?.terminationGracePeriodSeconds).toBe(30);
  });
});
