/** Applies deploy/ as a user does: the CRDs are current, and the permissions in it are sufficient for the manager. */
import { join } from 'node:path';
import { runControllers } from '@tidegate/envtest/controllers';
import {
  CERTIFICATE_SIGNING_REQUESTS,
  CONFIG_MAPS,
  DEPLOYMENTS,
  fixedCredential,
  getCondition,
  isNotFound,
  JOBS,
  KubeClient,
  type KubeObject,
  type Logger,
  loadConfig,
  Metrics,
  NODES,
  POD_DISRUPTION_BUDGETS,
  PODS,
  type Resource,
  ROLE_BINDINGS,
  SECRETS,
  SERVICE_ACCOUNTS,
  SERVICES,
  silentLogger,
} from '@tidegate/kube';
import { newSigningRequest } from '@tidegate/kube/certificates';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  EDGE_APPLICATIONS,
  type EdgeApplication,
  L7_ROUTERS,
  NODE_GROUP_LABEL,
  NODE_GROUPS,
  NODE_POOL_LABEL,
  NODE_POOLS,
  YURT_INGRESSES,
} from '../../packages/tidegate/src/api/index.ts';
import { PARTS } from '../../packages/tidegate/src/manager/index.ts';
import { type Embedded, startEmbedded } from '../support/embedded.ts';
import { Kubectl } from '../support/kubectl.ts';
import { eventually } from '../support/patience.ts';
import { reservePort } from '../support/ports.ts';
import { finish } from '../support/process.ts';
import { authorizationOf, DEPLOY, type Manager, startManager, webhookObjects } from './support.ts';

const INGRESS_NGINX_IMAGE = 'registry.example/ingress-nginx/controller:v1.11.2';
const GENERATE = join(import.meta.dirname, '../../scripts/generate-crds.js');

it('deploy/crds matches the code', async () => {
  const { code, stderr } = await finish([process.execPath, GENERATE, '--check']);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
});

describe('the manager with only the permissions of its ServiceAccounts', () => {
  let server: Embedded;
  let kubectl: Kubectl;
  let admin: KubeClient;
  const accounts: KubeClient[] = [];
  const managers: Manager[] = [];
  let controllers: Promise<void>;
  const stop = new AbortController();
  /** Requests that were forbidden. */
  const forbidden: string[] = [];

  beforeAll(async () => {
    server = await startEmbedded();
    kubectl = new Kubectl(server.kubeconfig);
    const config = await loadConfig({ path: server.kubeconfig, env: {} });
    admin = new KubeClient(config);
    controllers = runControllers({
      client: admin,
      clusterCidr: '127.100.0.0/16',
      nodeGraceMs: 600_000,
      log: silentLogger,
      metrics: new Metrics(),
      signal: stop.signal,
    });
    await kubectl.run(`apply --server-side -k ${DEPLOY}/overlays/ingress-nginx`);
    const webhook = { host: '127.0.0.1', port: await reservePort() };
    // The manager of the test is not behind the Service.
    await kubectl.run('delete validatingwebhookconfiguration,mutatingwebhookconfiguration tidegate');
    await kubectl.apply(...(await webhookObjects(`https://127.0.0.1:${webhook.port}`)));
    for (const part of PARTS) {
      const authorization = await authorizationOf(admin, `tidegate-${part}`);
      const account = new KubeClient({ ...config, credentials: fixedCredential({ authorization }) });
      accounts.push(account);
      managers.push(
        await startManager(account, {
          parts: [part],
          identity: part,
          webhook,
          installDefinitions: false,
          leaderElection: true,
          log: collecting(forbidden),
          routerPolicy: { ingressNginxImage: INGRESS_NGINX_IMAGE },
        }),
      );
    }
  });
  afterAll(async () => {
    await Promise.all(managers.map((manager) => manager.stop()));
    stop.abort();
    await controllers;
    await Promise.all([...accounts, admin].map((client) => client.close()));
    await server.stop();
  });

  const isGone = <T extends KubeObject>(
    resource: Resource<T>,
    name: string,
    namespace?: string,
  ): Promise<boolean> => admin.get(resource, { name, namespace }).then(() => false, isNotFound);
  const readyReason = async (): Promise<string | undefined> => {
    const { status } = await admin.get(EDGE_APPLICATIONS, { name: 'shop', namespace: 'default' });
    return getCondition(status?.conditions, 'Ready')?.reason;
  };
  const kubernetesAddress = async (): Promise<string | undefined> =>
    (await admin.get(SERVICES, { name: 'kubernetes', namespace: 'default' })).spec?.clusterIP;
  const labelsOf = async (node: string): Promise<Record<string, string>> =>
    (await admin.get(NODES, { name: node })).metadata.labels ?? {};

  it('assigns nodes to pools, moves their pods, and deletes the pools', async () => {
    for (const name of ['n1', 'n2'])
      await admin.create(NODES, {
        apiVersion: 'v1',
        kind: 'Node',
        metadata: { name, labels: { site: name } },
      });
    await kubectl.apply(
      {
        apiVersion: 'apps.kubeedge.io/v1alpha1',
        kind: 'NodeGroup',
        metadata: { name: 'paris' },
        spec: { matchLabels: { site: 'n1' } },
      },
      {
        apiVersion: 'apps.openyurt.io/v1beta1',
        kind: 'NodePool',
        metadata: { name: 'rome' },
        spec: { taints: [{ key: 'k', effect: 'NoSchedule' }] },
      },
    );
    await kubectl.run('label node n1 n2 apps.openyurt.io/desired-nodepool=rome');
    await eventually(async () => (await labelsOf('n1'))[NODE_GROUP_LABEL] === 'paris');
    await eventually(async () => (await labelsOf('n2'))[NODE_POOL_LABEL] === 'rome');
    await eventually(async () => (await admin.get(NODE_POOLS, { name: 'rome' })).status?.nodes?.length === 2);
    await admin.create(PODS, {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: 'p', namespace: 'default' },
      spec: {
        nodeName: 'n1',
        nodeSelector: { [NODE_GROUP_LABEL]: 'paris' },
        containers: [{ name: 'c', image: 'i' }],
        terminationGracePeriodSeconds: 0,
      },
    });
    await expect(kubectl.run('delete nodepool rome')).rejects.toThrow('the pool still has nodes: n1, n2;');
    await kubectl.run('label node n1 site-');
    await eventually(() => isGone(PODS, 'p', 'default'));
    await kubectl.run('label node n1 n2 apps.openyurt.io/desired-nodepool-');
    await eventually(async () => (await labelsOf('n2'))[NODE_POOL_LABEL] === undefined);
    await eventually(async () => (await admin.get(NODE_POOLS, { name: 'rome' })).status?.nodes?.length === 0);
    await kubectl.run('delete nodepool rome');
    await kubectl.run('label node n1 site=n1');
    expect(await isGone(NODE_GROUPS, 'paris')).toBe(false);
  });

  const manifests = [
    {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { name: 'web' },
      spec: {
        selector: { matchLabels: { app: 'web' } },
        template: {
          metadata: { labels: { app: 'web' } },
          spec: { containers: [{ name: 'c', image: 'web:1' }] },
        },
      },
    },
    {
      apiVersion: 'batch/v1',
      kind: 'Job',
      metadata: { name: 'fill' },
      spec: {
        template: { spec: { restartPolicy: 'Never', containers: [{ name: 'c', image: 'fill:1' }] } },
      },
    },
    { apiVersion: 'v1', kind: 'Service', metadata: { name: 'web' }, spec: { ports: [{ port: 80 }] } },
    { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'menu' } },
  ];
  const application = (...more: object[]): object => ({
    apiVersion: 'apps.kubeedge.io/v1alpha1',
    kind: 'EdgeApplication',
    metadata: { name: 'shop', namespace: 'default' },
    spec: {
      workloadTemplate: { manifests: [...manifests, ...more] },
      workloadScope: { targetNodeGroups: [{ name: 'paris' }] },
    },
  });

  it('creates no objects of applications in a namespace that has not granted it', async () => {
    await kubectl.apply(application());
    await eventually(async () => (await readyReason()) === 'ApplyFailed');
    const { status } = await admin.get(EDGE_APPLICATIONS, { name: 'shop', namespace: 'default' });
    expect(getCondition(status?.conditions, 'Ready')?.message).toContain(
      'kubectl create rolebinding tidegate-apps --namespace default --clusterrole tidegate-apps --serviceaccount tidegate-system:tidegate-apps',
    );
    expect(await isGone(CONFIG_MAPS, 'menu', 'default')).toBe(true);
    await kubectl.run('delete edgeapplication shop');
    expect(forbidden.splice(0).every((message) => message.includes('tidegate-apps'))).toBe(true);
  });

  it('creates the objects of applications', async () => {
    await kubectl.run(
      'create rolebinding tidegate-apps --namespace default --clusterrole tidegate-apps --serviceaccount tidegate-system:tidegate-apps',
    );
    await kubectl.apply(application());
    await eventually(async () => !(await isGone(DEPLOYMENTS, 'web-paris', 'default')));
    await eventually(async () => !(await isGone(JOBS, 'fill-paris', 'default')));
    await eventually(async () => !(await isGone(SERVICES, 'web', 'default')));
    await eventually(async () => !(await isGone(CONFIG_MAPS, 'menu', 'default')));
    await eventually(async () => (await readyReason()) === 'Progressing');
  });

  it('approves certificates of hubs', async () => {
    const request = {
      apiVersion: 'certificates.k8s.io/v1',
      kind: 'CertificateSigningRequest',
      metadata: { name: 'hub-n1' },
      spec: {
        request: Buffer.from(
          newSigningRequest({
            commonName: 'system:node:n1',
            organizations: ['system:nodes'],
            dnsNames: ['kubernetes.default.svc'],
            ipAddresses: ['169.254.2.1', (await kubernetesAddress())!],
          }).request,
        ).toString('base64'),
        signerName: 'kubernetes.io/kubelet-serving',
        usages: ['digital signature', 'server auth'],
      },
    };
    const config = await loadConfig({ path: server.kubeconfig, env: {} });
    const node = new KubeClient({
      ...config,
      impersonate: { user: 'system:node:n1', groups: ['system:nodes', 'system:authenticated'] },
    });
    await node.create(CERTIFICATE_SIGNING_REQUESTS, request);
    await node.close();
    await eventually(async () => {
      const { status } = await admin.get(CERTIFICATE_SIGNING_REQUESTS, { name: 'hub-n1' });
      return status?.conditions?.some(({ type, reason }) => type === 'Approved' && reason === 'NamesKnown');
    });
  });

  it('provisions a router with its own permissions, and deletes it', async () => {
    const parameters = { apiGroup: 'networking.tidegate.io', kind: 'IngressClassParameters', name: 'gold' };
    await kubectl.apply(
      {
        apiVersion: 'networking.tidegate.io/v1alpha1',
        kind: 'IngressClassParameters',
        metadata: { name: 'gold', namespace: 'tidegate-system' },
        parameters: { replicas: '2', pool: 'rome' },
      },
      {
        apiVersion: 'networking.k8s.io/v1',
        kind: 'IngressClass',
        metadata: { name: 'gold' },
        spec: { controller: 'tidegate.io/nginx', parameters },
      },
    );
    await kubectl.apply({
      apiVersion: 'networking.k8s.io/v1',
      kind: 'Ingress',
      metadata: { name: 'shop', namespace: 'default' },
      spec: {
        ingressClassName: 'gold',
        tls: [{ hosts: ['shop.example'], secretName: 'shop-tls' }],
        defaultBackend: { service: { name: 'web', port: { number: 80 } } },
        rules: [{ host: 'shop.example' }],
      },
    });
    const router = 'tidegate-router-gold';
    const namespace = 'tidegate-routers';
    await eventually(async () => !(await isGone(DEPLOYMENTS, router, namespace)));
    await eventually(async () => !(await isGone(POD_DISRUPTION_BUDGETS, router, namespace)));
    // The namespace has not granted access to its certificates. The Ingress has an event that says how.
    await eventually(async () => {
      const { items } = await kubectl.json<{ items: { reason: string; message: string }[] }>(
        'get events -n default --field-selector reason=CertificatesNotReadable',
      );
      return items[0]?.message.includes(
        'kubectl create rolebinding tidegate-certificates --namespace default',
      );
    });
    expect(await isGone(ROLE_BINDINGS, router, 'default')).toBe(true);
    await kubectl.run(
      'create rolebinding tidegate-certificates --namespace default --clusterrole tidegate-certificates --serviceaccount tidegate-system:tidegate-routers',
    );
    await kubectl.run(
      'create rolebinding tidegate-certificate-checks --namespace default --clusterrole tidegate-certificate-checks --serviceaccount tidegate-system:tidegate-admission',
    );
    await kubectl.run(
      'patch ingress shop -n default --type merge -p {"spec":{"rules":[{"host":"www.example"}]}}',
    );
    await eventually(async () => !(await isGone(ROLE_BINDINGS, router, 'default')));
    forbidden.splice(0);
    // kubectl exits with status 1 if the answer is no.
    const may = (what: string): Promise<boolean> =>
      kubectl.run(`auth can-i ${what} --as system:serviceaccount:${namespace}:${router}`).then(
        () => true,
        () => false,
      );
    expect(await may('watch secrets/shop-tls -n default')).toBe(true);
    expect(await may('watch secrets/other -n default')).toBe(false);
    expect(await may('patch l7routers/gold --subresource status')).toBe(true);
    expect(await may('patch l7routers/silver --subresource status')).toBe(false);
    await kubectl.run('delete ingress shop -n default');
    await eventually(() => isGone(L7_ROUTERS, 'gold'));
    expect(await isGone(DEPLOYMENTS, router, namespace)).toBe(true);
    await eventually(async () => !(await may('patch l7routers/gold --subresource status')));
  });

  it('provisions the front doors of a YurtIngress, also with ingress-nginx', async () => {
    const yurtIngress = (more: object) => ({
      apiVersion: 'apps.openyurt.io/v1alpha1',
      kind: 'YurtIngress',
      metadata: { name: 'doors' },
      spec: { pools: [{ name: 'lyon' }], ...more },
    });
    const router = 'tidegate-router-lyon';
    const own = `ingress-nginx:${router}`;
    const nginx = 'tidegate-ingress-nginx:tidegate-ingress-nginx';
    const mayRead = (what: string, account = own): Promise<boolean> =>
      kubectl.run(`auth can-i ${what} --as system:serviceaccount:${account}`).then(
        () => true,
        () => false,
      );
    await kubectl.apply(
      { apiVersion: 'apps.openyurt.io/v1beta1', kind: 'NodePool', metadata: { name: 'lyon' } },
      yurtIngress({}),
    );
    await eventually(async () => !(await isGone(DEPLOYMENTS, router, 'ingress-nginx')));
    const { metadata } = await admin.get(SERVICES, { name: router, namespace: 'ingress-nginx' });
    expect(metadata.annotations?.['nodeport.openyurt.io/listen']).toBe('lyon');
    expect(await mayRead('list secrets')).toBe(false);
    // The name of an image gives no permissions, and the image is not allowed.
    await kubectl.apply(
      yurtIngress({ ingress_controller_image: 'evil.example/ingress-nginx/controller:v1.11.2' }),
    );
    await eventually(async () => {
      const { items } = await admin.list(YURT_INGRESSES);
      const text = JSON.stringify(items[0]?.status);
      return text.includes('evil.example/ingress-nginx/controller') && text.includes('is not allowed');
    });
    expect(await mayRead('list secrets')).toBe(false);
    const { spec } = await admin.get(DEPLOYMENTS, { name: router, namespace: 'ingress-nginx' });
    expect(spec?.template.spec?.containers[0]?.image).toBe('tidegate');
    // The administrator has enabled ingress-nginx, and the YurtIngress selects it. It runs in another namespace.
    await kubectl.apply(yurtIngress({ ingress_controller_flavor: 'ingress-nginx' }));
    const namespace = 'tidegate-ingress-nginx';
    expect(await mayRead('list secrets', nginx)).toBe(true);
    expect(await mayRead(`update leases -n ${namespace}`, nginx)).toBe(true);
    expect(await mayRead('update leases -n default', nginx)).toBe(false);
    await eventually(async () => !(await isGone(DEPLOYMENTS, router, namespace)));
    const { spec: moved } = await admin.get(DEPLOYMENTS, { name: router, namespace });
    const { containers: [container] = [], serviceAccountName } = moved?.template.spec ?? {};
    expect(serviceAccountName).toBe('tidegate-ingress-nginx');
    expect(container?.image).toBe(INGRESS_NGINX_IMAGE);
    expect(container?.args).toContain('--controller-class=ingress-nginx.tidegate.io/lyon');
    // The router in the old namespace serves until the new one is ready.
    const pods = await eventually(async () => {
      const { items } = await admin.list(PODS, { namespace });
      return items.length > 0 && items;
    });
    expect(await isGone(DEPLOYMENTS, router, 'ingress-nginx')).toBe(false);
    expect(await isGone(SERVICES, router, 'ingress-nginx')).toBe(false);
    for (const { metadata } of pods) {
      const status = { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] };
      const target = { name: `${metadata.name}`, namespace, subresource: 'status' };
      await admin.patch(PODS, target, 'merge', { status });
    }
    for (const resource of [DEPLOYMENTS, SERVICES, SERVICE_ACCOUNTS])
      await eventually(() => isGone<KubeObject>(resource, router, 'ingress-nginx'));
    expect(await isGone(CONFIG_MAPS, router, namespace)).toBe(false);
    await kubectl.run('delete yurtingress doors');
    expect(await isGone(L7_ROUTERS, 'lyon')).toBe(true);
    expect(await isGone(DEPLOYMENTS, router, namespace)).toBe(true);
  });

  it('was denied no request', () => {
    expect(forbidden).toEqual([]);
  });

  it('creates no Secret until the administrator grants access to Secrets', async () => {
    const secret = { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'till' } };
    await kubectl.apply(application(secret));
    await eventually(async () => (await readyReason()) === 'ApplyFailed');
    const { status } = (await admin.get(EDGE_APPLICATIONS, {
      name: 'shop',
      namespace: 'default',
    })) as EdgeApplication;
    expect(JSON.stringify(status)).toContain('cannot get resource \\"secrets\\"');
    await kubectl.run(
      'create clusterrole our-apps --verb=get,list,watch,create,patch,delete --resource=secrets',
    );
    await kubectl.run(
      'create rolebinding our-apps --namespace default --clusterrole our-apps --serviceaccount tidegate-system:tidegate-apps',
    );
    // The controller retries after a while. A change triggers it immediately.
    await kubectl.apply(application({ ...secret, stringData: { pin: '1' } }));
    await eventually(async () => !(await isGone(SECRETS, 'till', 'default')));
  });

  it('deletes the objects of an application', async () => {
    await kubectl.run('delete edgeapplication shop --wait=false');
    await eventually(() => isGone(EDGE_APPLICATIONS, 'shop', 'default'));
    expect(await isGone(DEPLOYMENTS, 'web-paris', 'default')).toBe(true);
    expect(await isGone(SECRETS, 'till', 'default')).toBe(true);
  });
});

/** Collects log entries about forbidden requests. */
function collecting(forbidden: string[]): Logger {
  const look = (fields: object): void => {
    const { err } = fields as { err?: { code?: number; message?: string } };
    if (err?.code === 403) forbidden.push(err.message ?? '');
  };
  return { ...silentLogger, warn: look, error: look, debug: look, child: () => collecting(forbidden) };
}
