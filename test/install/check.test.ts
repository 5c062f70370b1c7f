/** `tidegate check` is all green on a healthy cluster, and names faults that were put in by hand, one at a time. */
import { setMaxListeners } from 'node:events';
import { join } from 'node:path';
import {
  CONFIG_MAPS,
  getCondition,
  type KubeObject,
  LEASES,
  NODES,
  PODS,
  type Resource,
} from '@tidegate/kube';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { L7_ROUTERS } from '../../packages/tidegate/src/api/index.ts';
import {
  type CheckContext,
  checksFor,
  type Finding,
  hasErrors,
  runChecks,
} from '../../packages/tidegate/src/check/index.ts';
import { readChart } from '../../packages/tidegate/src/install/index.ts';
import { eventually } from '../support/patience.ts';
import { repositoryFile } from '../support/repository.ts';
import { EmptyCluster } from './cluster.ts';

const NAMESPACE = 'tidegate-system';
let cluster: EmptyCluster;

beforeAll(async () => {
  cluster = await EmptyCluster.start(73, ['cloud-1', 'edge-1']);
  await cluster.kubectl.run('label node edge-1 apps.openyurt.io/nodepool=shop');
  const { code, stderr } = await cluster.run('install', '--timeout', '10m');
  expect({ code, stderr }).toMatchObject({ code: 0 });
  await cluster.kubectl.apply(
    { apiVersion: 'apps.openyurt.io/v1beta2', kind: 'NodePool', metadata: { name: 'shop' } },
    {
      apiVersion: 'apps.openyurt.io/v1alpha1',
      kind: 'YurtIngress',
      metadata: { name: 'doors' },
      spec: { pools: [{ name: 'shop' }] },
    },
  );
  await eventually(async () => {
    const { items } = await cluster.client.list(L7_ROUTERS);
    return items.some(({ status }) => getCondition(status?.conditions, 'Ready')?.status === 'True');
  });
});
afterAll(() => cluster.stop());

async function findings(phase: 'pre' | 'installed' = 'installed', only?: string): Promise<Finding[]> {
  const context: CheckContext = {
    client: cluster.client,
    namespace: NAMESPACE,
    chart: readChart(join(repositoryFile('deploy'), 'chart')),
    now: Date.now,
    ask: async (url) => (await fetch(url)).status,
    signal: endless(),
  };
  const checks = checksFor(phase).filter(({ name }) => only === undefined || name === only);
  const reports = await runChecks(checks, context, () => {});
  return reports.flatMap((report) => report.findings.filter(({ level }) => level !== 'ok'));
}

/** Waits until a check names the fault. Every finding must have a hint. */
async function names(check: string, level: Finding['level'], text: RegExp): Promise<void> {
  await eventually(async () => {
    const found = await findings('installed', check);
    for (const { hint } of found) expect(hint).toBeTruthy();
    return found.some((finding) => finding.level === level && text.test(finding.message));
  });
}

it('runs the manager on no node of a pool', async () => {
  const { items } = await cluster.client.list(PODS, { namespace: NAMESPACE });
  expect([...new Set(items.map(({ spec }) => spec?.nodeName))]).toEqual(['cloud-1']);
});

it('is all green on a healthy cluster, also as a command', async () => {
  expect(await findings()).toEqual([]);
  let reports: { check: string; findings: Finding[] }[] = [];
  const command = async () => {
    const { code, stdout } = await cluster.run('check', '-o', 'json');
    reports = JSON.parse(stdout);
    return { code, findings: reports.flatMap((each) => each.findings).filter(({ level }) => level !== 'ok') };
  };
  // On a busy machine a node can be late with its heartbeat for a moment. Then it is not healthy.
  await expect.poll(command).toEqual({ code: 0, findings: [] });
  expect(reports.map(({ check }) => check)).toContain('webhook');
  const door = reports.find(({ check }) => check === 'front-doors');
  expect(door?.findings[0]?.message).toMatch(/^L7Router shop answers at http:\/\/.* \(404\)$/);
});

it('is green before an installation, too', async () => {
  expect(await findings('pre')).toEqual([]);
});

describe('an installation that has no record, because Helm or kubectl created it', () => {
  const inventory = { namespace: NAMESPACE, name: 'tidegate-installation' };
  const objectsOf = async () => {
    const { stdout } = await cluster.run('check', '-o', 'json');
    const reports = JSON.parse(stdout) as { check: string; findings: Finding[] }[];
    return reports.find(({ check }) => check === 'objects')?.findings;
  };
  const annotate = (value: string): Promise<string> =>
    cluster.kubectl.run(
      `annotate deployment --all -n ${NAMESPACE} meta.helm.sh/release-name${value} --overwrite`,
    );

  it('is not a fault, and the release is named', async () => {
    const { data, metadata } = await cluster.client.get(CONFIG_MAPS, inventory);
    await cluster.client.delete(CONFIG_MAPS, inventory);
    expect(await objectsOf()).toEqual([
      {
        level: 'ok',
        message: expect.stringMatching(/^version \S+ was installed with kubectl .* not compared/),
      },
    ]);
    await annotate('=edge');
    expect(await objectsOf()).toEqual([
      {
        level: 'ok',
        message: expect.stringMatching(
          /^version \S+ was installed with the Helm release edge: .* not compared/,
        ),
      },
    ]);
    await annotate('-');
    const { labels } = metadata;
    await cluster.client.create(CONFIG_MAPS, {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { ...inventory, labels },
      data,
    });
    expect(await findings('installed', 'objects')).toEqual([]);
  });
});

describe('a fault is named:', () => {
  const { run } = { run: (args: string) => cluster.kubectl.run(args) };
  const VALIDATING: Resource = {
    group: 'admissionregistration.k8s.io',
    version: 'v1',
    resource: 'validatingwebhookconfigurations',
    namespaced: false,
  };

  it('1. a missing permission', async () => {
    await run('delete clusterrolebinding tidegate-pools');
    await names('objects', 'error', /^ClusterRoleBinding tidegate-pools is missing$/);
  });

  it('2. an object that was changed, and the exit status', async () => {
    await run(`label deployment tidegate-apps -n ${NAMESPACE} --overwrite app.kubernetes.io/version=0.0.9`);
    await names(
      'objects',
      'warning',
      /^Deployment tidegate-system\/tidegate-apps was changed: metadata\.labels/,
    );
    const { code, stdout } = await cluster.run('check');
    expect(code).toBe(1);
    expect(stdout).toContain('ERROR   ClusterRoleBinding tidegate-pools is missing');
    expect(stdout).toContain('-> run tidegate install');
    const repaired = await cluster.run('install', '--force-conflicts', '--timeout', '10m');
    expect(repaired).toMatchObject({ code: 0 });
    expect(await findings('installed', 'objects')).toEqual([]);
  });

  it('3. an interrupted upgrade', async () => {
    const inventory = { namespace: NAMESPACE, name: 'tidegate-installation' };
    await cluster.client.patch(CONFIG_MAPS, inventory, 'merge', { data: { changingTo: '0.3.0' } });
    await names('objects', 'error', /^the change to version 0\.3\.0 was interrupted$/);
    await cluster.client.patch(CONFIG_MAPS, inventory, 'merge', { data: { changingTo: null } });
  });

  it('4. a clock of a node that is ahead', async () => {
    await node('edge-7', { renewTime: new Date(Date.now() + 3_600_000) });
    await names('clock', 'warning', /^the clock of node edge-7 is 3[56]\d\d s ahead of the API server$/);
  });

  it('5. a hub without a link', async () => {
    await node('edge-8', { version: '0.2.0', renewTime: new Date(Date.now() - 600_000) });
    await names('hubs', 'error', /^node edge-8 has not reached the API server for 6\d\d s$/);
  });

  it('6. a hub of a version that does not fit', async () => {
    await node('edge-9', { version: '9.0.0', renewTime: new Date() });
    await names('hubs', 'warning', /^the hub of node edge-9 has version 9\.0\.0, which is newer/);
  });

  it('7. a pool without a node that is Ready, a label without a pool, and open node ports', async () => {
    await cluster.kubectl.apply({
      apiVersion: 'apps.openyurt.io/v1beta2',
      kind: 'NodePool',
      metadata: { name: 'depot' },
    });
    await run('label node edge-8 apps.openyurt.io/nodepool=depot');
    await names('pools', 'error', /^NodePool depot: none of its 1 nodes is Ready$/);
    await run('label node edge-7 apps.openyurt.io/nodepool=nowhere');
    await names('pools', 'error', /edge-7 has the label .*=nowhere, but NodePool nowhere does not exist/);
    // It has no hub. edge-8 has one, and edge-1 is in the pool of the only front door.
    await names('node-ports', 'warning', /ports of front doors of other pools: edge-7 \(nowhere\)$/);
  });

  it('8. leftovers of OpenYurt, KubeEdge and ingress-nginx', async () => {
    await run('create deployment yurt-manager -n kube-system --image=none');
    await names('leftovers', 'error', /yurt-manager of OpenYurt is running/);
    await cluster.client.create(VALIDATING, {
      apiVersion: 'admissionregistration.k8s.io/v1',
      kind: 'ValidatingWebhookConfiguration',
      metadata: { name: 'ingress-nginx-admission' },
      webhooks: [
        {
          name: 'validate.nginx.ingress.kubernetes.io',
          admissionReviewVersions: ['v1'],
          sideEffects: 'None',
          failurePolicy: 'Ignore',
          clientConfig: { service: { namespace: 'ingress-nginx', name: 'gone' } },
          rules: [],
        },
      ],
    } as KubeObject);
    await names('leftovers', 'error', /ingress-nginx-admission names a Service that does not exist/);
    await cluster.kubectl.apply({
      apiVersion: 'networking.k8s.io/v1',
      kind: 'IngressClass',
      metadata: { name: 'nginx' },
      spec: { controller: 'k8s.io/ingress-nginx' },
    });
    await names('leftovers', 'warning', /^IngressClass nginx belongs to ingress-nginx/);
    const edgecore = { status: { nodeInfo: { kubeletVersion: 'v1.29.5-kubeedge-v1.17.0' } } };
    await cluster.client.patch(NODES, { name: 'edge-9', subresource: 'status' }, 'merge', edgecore);
    await names('leftovers', 'warning', /^nodes with edgecore of KubeEdge: edge-9$/);
  });

  it('9. a part of the manager that cannot run, and one at a site', async () => {
    await run(
      `patch deployment tidegate-pools -n ${NAMESPACE} --type merge -p {"spec":{"template":{"spec":{"nodeSelector":{"no":"node"}}}}}`,
    );
    await names('manager', 'error', /^not ready: Deployment tidegate-pools \(pod .*node/);
    await run(
      `patch deployment tidegate-apps -n ${NAMESPACE} --type json -p [{"op":"remove","path":"/spec/template/spec/affinity"},{"op":"add","path":"/spec/template/spec/nodeName","value":"edge-1"}]`,
    );
    await names('manager', 'warning', /^pod tidegate-apps-.* runs on node edge-1 of pool shop/);
  });

  it('10. a front door that does not answer', async () => {
    await run(`scale deployment tidegate-routers -n ${NAMESPACE} --replicas=0`);
    await run('scale deployment tidegate-router-shop -n ingress-nginx --replicas=0');
    await names('front-doors', 'error', /^L7Router shop (does not answer at http|is not Ready)/);
  });

  it('11. a webhook that the API server does not reach', async () => {
    await run(`scale deployment tidegate-admission -n ${NAMESPACE} --replicas=0`);
    await names('webhook', 'error', /^the API server cannot call the webhook: .*tidegate-webhook/);
  });

  it('12. a certificate authority that has expired, and a webhook that is not registered', async () => {
    const { webhooks } = (await cluster.client.get(VALIDATING, { name: 'tidegate' })) as KubeObject & {
      webhooks: { clientConfig: { caBundle: string } }[];
    };
    const [{ clientConfig } = { clientConfig: { caBundle: '' } }] = webhooks;
    const context = { now: () => Date.now() + 100 * 365 * 24 * 3_600_000 };
    expect(clientConfig.caBundle).not.toBe('');
    const [check] = checksFor('installed').filter(({ name }) => name === 'webhook');
    const later = await check!.run({
      client: cluster.client,
      namespace: NAMESPACE,
      signal: endless(),
      ...context,
    } as unknown as CheckContext);
    expect(later[0]?.message).toMatch(/^the certificate authority of .* expired /);
    await run('delete validatingwebhookconfiguration tidegate');
    await names('webhook', 'error', /^the validating webhook configuration tidegate does not exist$/);
  });

  it('and all of them together make the exit status 1', async () => {
    expect(hasErrors([{ check: 'all', title: '', findings: await findings() }])).toBe(true);
  });
});

/** A signal that is never aborted. All checks listen to it. */
function endless(): AbortSignal {
  const { signal } = new AbortController();
  setMaxListeners(0, signal);
  return signal;
}

/** A node that only exists as an object, with its lease. */
async function node(
  name: string,
  { version, renewTime }: { version?: string; renewTime: Date },
): Promise<void> {
  const annotations: Record<string, string> = {};
  if (version !== undefined) annotations['hub.tidegate.io/version'] = version;
  await cluster.client.create(NODES, { apiVersion: 'v1', kind: 'Node', metadata: { name, annotations } });
  await cluster.client.create(LEASES, {
    apiVersion: 'coordination.k8s.io/v1',
    kind: 'Lease',
    metadata: { name, namespace: 'kube-node-lease' },
    spec: { holderIdentity: name, renewTime: renewTime.toISOString().replace('Z', '000Z') },
  } as KubeObject);
}
