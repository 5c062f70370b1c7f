/** The author of an EdgeApplication needs permission to create every object in it. */

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
import { eventually } from '../support/patience.ts';
import { type Manager, startManager } from './support.ts';

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
  await kubectl.run(
    'create clusterrole maker --verb=create,patch,delete --resource=configmaps,deployments.apps',
  );
  await kubectl.run(
    'create clusterrole forger --verb=patch --resource=edgeapplications.apps.kubeedge.io/status',
  );
  for (const user of ['writer', 'maker'])
    await kubectl.run(`create rolebinding forge-${user} -n a --clusterrole=forger --user=${user}`);
  await kubectl.run('create clusterrole creator --verb=create --resource=configmaps');
  await kubectl.run(
    'create clusterrole roles --verb=create,patch,delete --resource=roles,rolebindings,certificatesigningrequests',
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
    () => new Error('the API server accepted the object'),
    (error: unknown) => error,
  );
  if (!(error instanceof ApiStatusError)) throw error;
  expect(error.code).toBe(403);
  return error.message.replace(`admission webhook "${WEBHOOK}" denied the request: `, '');
}

describe('the status of an application', () => {
  const recorded = (uid: string): object => ({
    status: {
      manifestStatuses: [
        {
          identifier: {
            ordinal: 0,
            version: 'v1',
            kind: 'ConfigMap',
            resource: 'configmaps',
            namespace: 'a',
            name: 'precious',
            uid,
          },
        },
      ],
    },
  });

  it('can claim only objects that the user can delete', async () => {
    const precious = configMap('precious', 'a') as KubeObject;
    const { metadata } = await admin.create(CONFIG_MAPS, precious);
    await write(as('writer'), application('forged'));
    const forge = (user: string): Promise<unknown> =>
      as(user).patch(
        EDGE_APPLICATIONS,
        { name: 'forged', namespace: 'a', subresource: 'status' },
        'merge',
        recorded(metadata.uid!),
      );
    expect(await refusal(forge('writer'))).toBe(
      'admission webhook "status.edgeapplications.apps.kubeedge.io.tidegate.io" denied the request: ' +
        'status.manifestStatuses: user "writer" cannot delete configmaps "precious" in namespace "a"; an application ' +
        'deletes the objects in its status: let the manager write the status, or grant the permission',
    );
    await forge('maker');
  });

  it('cannot name another revision, because the manager deploys it', async () => {
    await write(as('maker'), application('rolled'));
    const forged = {
      revision: 'evil',
      stableRevision: 'evil',
      ...{ wave: 0, waveName: 'w', waveStartTime: '2026-01-01T00:00:00Z', phase: 'Complete', message: '' },
      ...{ updatedSites: 0, availableSites: 0, totalSites: 0 },
    };
    const forge = as('maker').patch(
      EDGE_APPLICATIONS,
      { name: 'rolled', namespace: 'a', subresource: 'status' },
      'merge',
      { status: { rollout: forged } },
    );
    expect(await refusal(forge)).toContain(
      'status.rollout: user "maker" cannot change the rollout in the status, because it decides which revision each site gets',
    );
  });
});

describe('an application', () => {
  it('is rejected if its author cannot create an object of it', async () => {
    expect(await refusal(write(as('writer'), application('x', deployment)))).toBe(
      `${MANIFEST}[0]: user "writer" cannot create or patch or delete deployments.apps in namespace "a"; an application ` +
        'can only create objects that its author can create and delete: grant the permission, or remove the manifest',
    );
    expect(await refusal(write(as('half'), application('x', configMap('m'))))).toContain(
      `${MANIFEST}[0]: user "half" cannot patch or delete configmaps in namespace "a"; an`,
    );
  });

  it('is accepted for namespaces in which the author has permission, and rejected for others', async () => {
    await write(as('maker'), application('mine', deployment, configMap('m')));
    await eventually(() => admin.get(CONFIG_MAPS, { name: 'm', namespace: 'a' }).catch(() => undefined));
    expect(await refusal(write(as('maker'), application('x', deployment, configMap('m2', 'b'))))).toContain(
      `${MANIFEST}[1]: user "maker" cannot create or patch or delete configmaps in namespace "b"; an`,
    );
  });

  it('is accepted if a group of the author has permission', async () => {
    await write(as('member', ['team']), application('ours', configMap('ours')));
  });

  it('is rejected with a cluster-scoped object that the author cannot create', async () => {
    const namespace = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'mine' } };
    expect(await refusal(write(as('maker'), application('x', namespace)))).toContain(
      `${MANIFEST}[0]: user "maker" cannot create or patch or delete namespaces in the whole cluster; an`,
    );
    await write(admin, application('wide', namespace, configMap('w', 'b')));
    await eventually(() => admin.get(CONFIG_MAPS, { name: 'w', namespace: 'b' }).catch(() => undefined));
  });

  it('is rejected with a kind that does not exist in the cluster', async () => {
    const later = { apiVersion: 'later.example/v1', kind: 'Later', metadata: { name: 'l' } };
    expect(await refusal(write(admin, application('x', configMap('x'), later)))).toMatch(
      /^spec\.workloadTemplate\.manifests\[1\]\.kind: kind Later of later\.example\/v1 does not exist in the cluster, so the permissions of user ".+" cannot be checked: install its CustomResourceDefinition first, or correct apiVersion and kind$/,
    );
  });

  it('is rejected if it grants permissions that the author cannot grant', async () => {
    const role = rbac('Role', { rules: [{ apiGroups: [''], resources: ['secrets'], verbs: ['*'] }] });
    expect(await refusal(write(as('ruler'), application('x', role)))).toContain(
      `${MANIFEST}[0]: user "ruler" cannot escalate roles.rbac.authorization.k8s.io in namespace "a"; an`,
    );
    const binding = rbac('RoleBinding', roleRef('cluster-admin'));
    expect(await refusal(write(as('ruler'), application('x', binding)))).toContain(
      `${MANIFEST}[0]: user "ruler" cannot bind clusterroles.rbac.authorization.k8s.io "cluster-admin" in namespace "a"`,
    );
    await write(as('ruler'), application('bound', rbac('RoleBinding', roleRef('maker'))));
  });

  it('is rejected with an object whose authorization depends on its author', async () => {
    const inner = application('inner', configMap('i', 'b'));
    const openyurt = (version: string, kind: string): object => ({
      apiVersion: `apps.openyurt.io/${version}`,
      kind,
      metadata: { name: 'inner', namespace: 'b' },
    });
    const request = {
      apiVersion: 'certificates.k8s.io/v1',
      kind: 'CertificateSigningRequest',
      metadata: { name: 'c' },
    };
    const nested = [
      inner,
      openyurt('v1beta1', 'YurtAppSet'),
      openyurt('v1alpha1', 'YurtAppDaemon'),
      openyurt('v1alpha1', 'YurtAppOverrider'),
      request,
    ];
    const error = await write(admin, application('x', ...nested)).catch((error: unknown) => error);
    expect(error).toMatchObject({
      code: 422,
      details: {
        causes: nested.map((manifest, index) => ({
          field: `${MANIFEST}[${index}].kind`,
          message: expect.stringContaining(
            `kind ${(manifest as KubeObject).kind} is not allowed in an application, because the manager would create`,
          ),
        })),
      },
    });
  });

  it('is rejected if it needs too many access reviews', async () => {
    const many = Array.from({ length: 101 }, (_, index) => configMap('m', `n${index}`));
    expect(await refusal(write(admin, application('x', ...many)))).toContain(
      `${MANIFEST}: the application has 101 different combinations of kind and namespace, the limit is 100`,
    );
  });
});

describe('an author without the permission to delete', () => {
  beforeAll(async () => {
    await kubectl.run('create clusterrole keeper --verb=create,patch --resource=configmaps');
    await kubectl.run('create clusterrole cleaner --verb=create,patch,delete --resource=services');
    for (const role of ['apps', 'keeper', 'cleaner'])
      await kubectl.run(`create rolebinding ${role}-keeper -n a --clusterrole=${role} --user=keeper`);
  });

  it('cannot let an application delete objects', async () => {
    expect(await refusal(write(as('keeper'), application('x', configMap('kept'))))).toContain(
      `${MANIFEST}[0]: user "keeper" cannot delete configmaps in namespace "a"; an application can only`,
    );
  });

  it('cannot remove objects from the application of another user', async () => {
    await write(admin, application('kept', configMap('kept')));
    const service = {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name: 'kept' },
      spec: { ports: [{ port: 80 }] },
    };
    const name = { name: 'kept', namespace: 'a' };
    const change = { spec: { workloadTemplate: { manifests: [service] } } };
    expect(await refusal(as('keeper').patch(EDGE_APPLICATIONS, name, 'merge', change))).toContain(
      `${MANIFEST}: user "keeper" cannot delete configmaps in namespace "a"; an application can only`,
    );
    await as('maker').patch(EDGE_APPLICATIONS, name, 'merge', { metadata: { labels: { seen: 'yes' } } });
  });
});

describe('an existing application', () => {
  const patch = (client: KubeClient, change: object): Promise<KubeObject> =>
    client.patch(EDGE_APPLICATIONS, { name: 'wide', namespace: 'a' }, 'merge', change);

  it('can be labeled, but not changed, by a user without permission for its objects', async () => {
    await patch(as('writer'), { metadata: { labels: { seen: 'yes' } } });
    const scope = { workloadScope: { targetNodeGroups: [{ name: 'rome' }] } };
    expect(await refusal(patch(as('writer'), { spec: scope }))).toContain(`${MANIFEST}[0]: user "writer"`);
    await patch(admin, { spec: scope });
  });

  it('can be changed as soon as the permission is granted', async () => {
    await refusal(write(as('writer'), application('soon', configMap('soon'))));
    await kubectl.run('create rolebinding soon -n a --clusterrole=maker --user=writer');
    await write(as('writer'), application('soon', configMap('soon')));
  });
});

describe('while no manager answers', () => {
  beforeAll(() => manager.stop());

  it('applications cannot be changed, and the error names the webhook', async () => {
    const error = await write(admin, application('late', configMap('l'))).catch((error: unknown) => error);
    expect((error as ApiStatusError).code).toBe(500);
    expect((error as ApiStatusError).message).toContain(`failed calling webhook "${WEBHOOK}"`);
  });

  it('everything except the spec can be changed', async () => {
    const name = { name: 'mine', namespace: 'a' };
    await admin.delete(EDGE_APPLICATIONS, name);
    await admin.patch(EDGE_APPLICATIONS, name, 'merge', { metadata: { finalizers: null } });
    expect(await admin.get(EDGE_APPLICATIONS, name).then(() => false, isNotFound)).toBe(true);
  });

  it('applications are not checked after the webhook configuration is deleted, until the next manager restores it', async () => {
    await admin.delete(CONFIGURATIONS, { name: 'tidegate' });
    await write(as('half'), application('unchecked', configMap('unchecked')));
    manager = await startManager(admin);
    await eventually(() =>
      admin.get(CONFIG_MAPS, { name: 'unchecked', namespace: 'a' }).catch(() => undefined),
    );
    await write(as('maker'), application('back', configMap('back')));
  });
});
