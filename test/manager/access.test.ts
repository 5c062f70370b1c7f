/** Who writes an EdgeApplication may only have made what they may make themselves. */

import {
  ApiStatusError,
  CONFIG_MAPS,
  isNotFound,
  KubeClient,
  type KubeObject,
  loadConfig,
  NAMESPACES,
  type Resource,
} from '@tidegate/kube';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { EDGE_APPLICATIONS } from '../../packages/tidegate/src/api/index.ts';
import { type Embedded, startEmbedded } from '../support/embedded.ts';
import { Kubectl } from '../support/kubectl.ts';
import { eventually, type Manager, startManager } from './support.ts';

const WEBHOOK = 'edgeapplications.apps.kubeedge.io.tidegate.io';
const MANIFEST = 'spec.workloadTemplate.manifests';
const CONFIGURATIONS: Resource = {
  group: 'admissionregistration.k8s.io',
  version: 'v1',
  resource: 'validatingwebhookconfigurations',
  namespaced: false,
};

let server: Embedded;
let kubectl: Kubectl;
let admin: KubeClient;
let manager: Manager;
const users = new Map<string, KubeClient>();

beforeAll(async () => {
  server = await startEmbedded();
  kubectl = new Kubectl(server.kubeconfig);
  admin = new KubeClient(await loadConfig({ path: server.kubeconfig, env: {} }));
  manager = await startManager(admin);
  for (const name of ['a', 'b'])
    await admin.create(NAMESPACES, { apiVersion: 'v1', kind: 'Namespace', metadata: { name } });
  await kubectl.run('create clusterrole apps --verb=* --resource=edgeapplications.apps.kubeedge.io');
  await kubectl.run('create clusterrole maker --verb=create,patch --resource=configmaps,deployments.apps');
  await kubectl.run('create clusterrole creator --verb=create --resource=configmaps');
  await kubectl.run(
    'create clusterrole roles --verb=create,patch --resource=roles,rolebindings,certificatesigningrequests',
  );
  await kubectl.run('create clusterrole binder --verb=bind --resource=clusterroles --resource-name=maker');
  for (const user of ['writer', 'half', 'maker', 'ruler'])
    await kubectl.run(`create rolebinding apps-${user} -n a --clusterrole=apps --user=${user}`);
  await kubectl.run('create rolebinding apps-team -n a --clusterrole=apps --group=team');
  await kubectl.run('create rolebinding make-team -n a --clusterrole=maker --group=team');
  await kubectl.run('create rolebinding half -n a --clusterrole=creator --user=half');
  await kubectl.run('create rolebinding make -n a --clusterrole=maker --user=maker');
  await kubectl.run('create clusterrolebinding roles --clusterrole=roles --user=ruler');
  await kubectl.run('create rolebinding bind -n a --clusterrole=binder --user=ruler');
});
afterAll(async () => {
  await manager.stop();
  await Promise.all([...users.values(), admin].map((client) => client.close()));
  await server.stop();
});

function as(user: string, groups: string[] = []): KubeClient {
  const known = users.get(user);
  if (known !== undefined) return known;
  const client = new KubeClient({
    ...admin.config,
    impersonate: { user, groups: ['system:authenticated', ...groups] },
  });
  users.set(user, client);
  return client;
}

const application = (name: string, ...manifests: object[]): KubeObject => ({
  apiVersion: 'apps.kubeedge.io/v1alpha1',
  kind: 'EdgeApplication',
  metadata: { name, namespace: 'a' },
  spec: { workloadTemplate: { manifests }, workloadScope: { targetNodeGroups: [{ name: 'paris' }] } },
});
const configMap = (name: string, namespace?: string): object => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, ...(namespace && { namespace }) },
});
const deployment = {
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'web' },
  spec: {
    selector: { matchLabels: { app: 'web' } },
    template: { metadata: { labels: { app: 'web' } }, spec: { containers: [{ name: 'c', image: 'i' }] } },
  },
};
const rbac = (kind: string, more: object): object => ({
  apiVersion: 'rbac.authorization.k8s.io/v1',
  kind,
  metadata: { name: 'r' },
  ...more,
});
const roleRef = (name: string): object => ({
  roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name },
  subjects: [],
});

const write = (client: KubeClient, object: KubeObject): Promise<KubeObject> =>
  client.create(EDGE_APPLICATIONS, object);
async function refusal(request: Promise<unknown>): Promise<string> {
  const error = await request.then(
    () => new Error('it was accepted'),
    (error: unknown) => error,
  );
  if (!(error instanceof ApiStatusError)) throw error;
  expect(error.code).toBe(403);
  return error.message.replace(`admission webhook "${WEBHOOK}" denied the request: `, '');
}

describe('what may be in an application', () => {
  it('is nothing that its writer may not make in that namespace', async () => {
    expect(await refusal(write(as('writer'), application('x', deployment)))).toBe(
      `${MANIFEST}[0]: user "writer" may not create and patch deployments.apps in namespace "a", and so no ` +
        'application that they write may either: have that right given to them, or leave the manifest out',
    );
    expect(await refusal(write(as('half'), application('x', configMap('m'))))).toContain(
      `${MANIFEST}[0]: user "half" may not patch configmaps in namespace "a", and`,
    );
  });

  it('is what they may make there, but not elsewhere', async () => {
    await write(as('maker'), application('mine', deployment, configMap('m')));
    await eventually(() => admin.get(CONFIG_MAPS, { name: 'm', namespace: 'a' }).catch(() => undefined));
    expect(await refusal(write(as('maker'), application('x', deployment, configMap('m2', 'b'))))).toContain(
      `${MANIFEST}[1]: user "maker" may not create and patch configmaps in namespace "b", and`,
    );
  });

  it('is what their groups may make', async () => {
    await write(as('member', ['team']), application('ours', configMap('ours')));
  });

  it('has no object without a namespace unless they may make such', async () => {
    const namespace = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'mine' } };
    expect(await refusal(write(as('maker'), application('x', namespace)))).toContain(
      `${MANIFEST}[0]: user "maker" may not create and patch namespaces in the whole cluster, and`,
    );
    await write(admin, application('wide', namespace, configMap('w', 'b')));
    await eventually(() => admin.get(CONFIG_MAPS, { name: 'w', namespace: 'b' }).catch(() => undefined));
  });

  it('is only of kinds that the cluster has: of others nobody knows who may make them', async () => {
    const later = { apiVersion: 'later.example/v1', kind: 'Later', metadata: { name: 'l' } };
    expect(await refusal(write(admin, application('x', configMap('x'), later)))).toMatch(
      /^spec\.workloadTemplate\.manifests\[1\]\.kind: the cluster has no kind Later in later\.example\/v1 yet, and so it can not be checked whether user ".+" may make one: install what defines it first, or correct apiVersion and kind$/,
    );
  });

  it('gives no rights that its writer may not give', async () => {
    const role = rbac('Role', { rules: [{ apiGroups: [''], resources: ['secrets'], verbs: ['*'] }] });
    expect(await refusal(write(as('ruler'), application('x', role)))).toContain(
      `${MANIFEST}[0]: user "ruler" may not escalate roles.rbac.authorization.k8s.io in namespace "a", and`,
    );
    const binding = rbac('RoleBinding', roleRef('cluster-admin'));
    expect(await refusal(write(as('ruler'), application('x', binding)))).toContain(
      `${MANIFEST}[0]: user "ruler" may not bind clusterroles.rbac.authorization.k8s.io "cluster-admin" in namespace "a"`,
    );
    await write(as('ruler'), application('bound', rbac('RoleBinding', roleRef('maker'))));
  });

  it('is nothing that counts as the word of whoever writes it: that would be the manager', async () => {
    const inner = application('inner', configMap('i', 'b'));
    expect(await refusal(write(as('maker'), application('x', inner)))).toContain(
      `${MANIFEST}[0].kind: an application can not have objects of kind EdgeApplication`,
    );
    const request = {
      apiVersion: 'certificates.k8s.io/v1',
      kind: 'CertificateSigningRequest',
      metadata: { name: 'c' },
    };
    expect(await refusal(write(as('ruler'), application('x', request)))).toContain(
      `${MANIFEST}[0].kind: an application can not have objects of kind CertificateSigningRequest`,
    );
  });

  it('has objects in so many namespaces only as can be asked about in time', async () => {
    const many = Array.from({ length: 101 }, (_, index) => configMap('m', `n${index}`));
    expect(await refusal(write(admin, application('x', ...many)))).toContain(
      `${MANIFEST}: an application may have 100 different pairs of a kind and a namespace at most`,
    );
  });
});

describe('an application that is there', () => {
  const patch = (client: KubeClient, change: object): Promise<KubeObject> =>
    client.patch(EDGE_APPLICATIONS, { name: 'wide', namespace: 'a' }, 'merge', change);

  it('may be labelled by who may not make what is in it, but not changed', async () => {
    await patch(as('writer'), { metadata: { labels: { seen: 'yes' } } });
    const scope = { workloadScope: { targetNodeGroups: [{ name: 'rome' }] } };
    expect(await refusal(patch(as('writer'), { spec: scope }))).toContain(`${MANIFEST}[0]: user "writer"`);
    await patch(admin, { spec: scope });
  });

  it('can be written as soon as the right is given', async () => {
    await refusal(write(as('writer'), application('soon', configMap('soon'))));
    await kubectl.run('create rolebinding soon -n a --clusterrole=maker --user=writer');
    await write(as('writer'), application('soon', configMap('soon')));
  });
});

describe('while no manager answers', () => {
  beforeAll(() => manager.stop());

  it('nobody writes applications, and is told who does not answer', async () => {
    const error = await write(admin, application('late', configMap('l'))).catch((error: unknown) => error);
    expect((error as ApiStatusError).code).toBe(500);
    expect((error as ApiStatusError).message).toContain(`failed calling webhook "${WEBHOOK}"`);
  });

  it('everything but the spec can be changed: nothing else is checked', async () => {
    const name = { name: 'mine', namespace: 'a' };
    await admin.delete(EDGE_APPLICATIONS, name);
    await admin.patch(EDGE_APPLICATIONS, name, 'merge', { metadata: { finalizers: null } });
    expect(await admin.get(EDGE_APPLICATIONS, name).then(() => false, isNotFound)).toBe(true);
  });

  it('who takes the webhook away has everything applied, as it was before; the next manager brings it back', async () => {
    await admin.delete(CONFIGURATIONS, { name: 'tidegate' });
    await write(as('half'), application('unchecked', configMap('unchecked')));
    manager = await startManager(admin);
    await eventually(() =>
      admin.get(CONFIG_MAPS, { name: 'unchecked', namespace: 'a' }).catch(() => undefined),
    );
    await write(as('maker'), application('back', configMap('back')));
  });
});
