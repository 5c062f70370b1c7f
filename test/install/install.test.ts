/**
 * `tidegate install`, `upgrade` and `uninstall` on a cluster whose nodes run the manager in pods, with the permissions of the
 * installation and no others. The tests are one story, in order.
 */
import { CONFIG_MAPS, DEPLOYMENTS, isNotFound, NAMESPACES, NODES, type Resource } from '@tidegate/kube';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { L7_ROUTERS, NODE_POOLS, YURT_INGRESSES } from '../../packages/tidegate/src/api/index.ts';
import { eventually } from '../support/patience.ts';
import { finish, TestProcess } from '../support/process.ts';
import { PROGRAM, repositoryFile } from '../support/repository.ts';
import { EmptyCluster } from './cluster.ts';

const NAMESPACE = 'edge-system';
const FLAGS = ['--namespace', NAMESPACE];
const DEFINITIONS: Resource = {
  group: 'apiextensions.k8s.io',
  version: 'v1',
  resource: 'customresourcedefinitions',
  namespaced: false,
};
const WEBHOOKS: Resource = {
  group: 'admissionregistration.k8s.io',
  version: 'v1',
  resource: 'validatingwebhookconfigurations',
  namespaced: false,
};
const INVENTORY = { namespace: NAMESPACE, name: 'tidegate-installation' };

let cluster: EmptyCluster;
beforeAll(async () => {
  cluster = await EmptyCluster.start(71, ['cloud-1', 'cloud-2']);
});
afterAll(() => cluster.stop());

const exists = (resource: Resource, name: string, namespace?: string): Promise<boolean> =>
  cluster.client.get(resource, { name, namespace }).then(
    () => true,
    (error: unknown) => {
      if (isNotFound(error)) return false;
      throw error;
    },
  );

describe('tidegate install', () => {
  it('prints all objects and changes nothing with --dry-run', async () => {
    const { code, stdout, stderr } = await cluster.run('install', ...FLAGS, '--dry-run');
    expect(stderr).toContain('create Deployment edge-system/tidegate-admission');
    expect(code).toBe(0);
    const kinds = parseAllDocuments(stdout).map((document) => document.toJS().kind);
    expect(kinds[0]).toBe('Namespace');
    expect(kinds.at(-1)).toBe('MutatingWebhookConfiguration');
    expect(await exists(NAMESPACES, NAMESPACE)).toBe(false);
  });

  it('refuses a cluster whose nodes are all in pools, and a controller of OpenYurt', async () => {
    await cluster.kubectl.run('label node --all apps.openyurt.io/nodepool=shop');
    await cluster.kubectl.run('create deployment yurt-manager -n kube-system --image=none');
    const { code, stderr } = await cluster.run('install', ...FLAGS);
    expect(code).toBe(1);
    expect(stderr).toContain('nothing was changed, because');
    expect(stderr).toContain('all 2 nodes are in pools');
    expect(stderr).toContain('Deployment kube-system/yurt-manager of OpenYurt is running');
    expect(await exists(NAMESPACES, NAMESPACE)).toBe(false);
    await cluster.kubectl.run('label node --all apps.openyurt.io/nodepool-');
    await cluster.kubectl.run('delete deployment yurt-manager -n kube-system');
  });

  it('refuses a namespace of Kubernetes or of other programs, whose pods its label would block', async () => {
    await cluster.kubectl.run('create namespace busy');
    await cluster.kubectl.run('run other -n busy --image=none');
    for (const [namespace, why] of [
      ['busy', 'namespace busy has pods of other programs: other'],
      ['kube-system', 'namespace kube-system belongs to Kubernetes'],
    ] as const) {
      const { code, stderr } = await cluster.run('install', '--namespace', namespace);
      expect(code).toBe(1);
      expect(stderr).toContain('nothing was changed, because');
      expect(stderr).toContain(why);
    }
    await cluster.kubectl.run('delete namespace busy');
  });

  it('warns about pods of another ingress controller in the namespace of front doors', async () => {
    await cluster.kubectl.run('create namespace ingress-nginx');
    await cluster.kubectl.run('run ingress-nginx-controller -n ingress-nginx --image=none');
    const warning = 'namespace ingress-nginx has pods of other programs: ingress-nginx-controller';
    const { code, stderr } = await cluster.run('install', ...FLAGS, '--dry-run');
    expect({ code, stderr }).toMatchObject({ code: 0, stderr: expect.stringContaining(warning) });
    const { stdout } = await cluster.run('check', '--pre', ...FLAGS);
    expect(stdout).toContain(warning);
    await cluster.kubectl.run('delete namespace ingress-nginx');
    await eventually(async () => !(await exists(NAMESPACES, 'ingress-nginx')));
  });

  it('refuses values that do not exist', async () => {
    const { code, stderr } = await cluster.run('install', ...FLAGS, '--set', 'replica.admission=3');
    expect({ code, stderr }).toMatchObject({ code: 1, stderr: expect.stringContaining('no such value') });
  });

  it('shows the status of a cluster without Tidegate', async () => {
    const { code, stdout, stderr } = await cluster.run('status', ...FLAGS);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toContain('Namespace edge-system: not installed with tidegate install.');
  });

  it('can be interrupted and continued, until the manager is ready', async () => {
    // A run that is killed after its first request leaves the namespace without a record.
    const [namespace] = parseAllDocuments((await cluster.run('install', ...FLAGS, '--dry-run')).stdout);
    await cluster.kubectl.run(
      'apply --server-side --field-manager=tidegate-install -f -',
      JSON.stringify(namespace),
    );
    const args = ['install', ...FLAGS, '--set', 'logLevel=debug', '--kubeconfig', cluster.kubeconfig];
    const broken = new TestProcess([process.execPath, PROGRAM, ...args]);
    await broken.until(({ stderr }) => stderr.includes('creating ClusterRole'));
    await broken.kill('SIGKILL');
    const { code, stdout, stderr } = await cluster.run('install', ...FLAGS, '--timeout', '10m');
    expect({ code, stderr }).toMatchObject({ code: 0 });
    expect(stderr).toContain('was interrupted; it is continued');
    expect(stdout).toContain('is ready in namespace edge-system. Next:');
    const { items } = await cluster.client.list(DEPLOYMENTS, { namespace: NAMESPACE });
    expect(items.map(({ status }) => status?.availableReplicas)).toEqual([2, 1, 1, 1]);
    // The setting of the first run stays.
    expect(JSON.stringify(items[0]?.spec)).toContain('"debug"');
    const { data } = await cluster.client.get(CONFIG_MAPS, INVENTORY);
    expect(data).toMatchObject({ values: '{"createNamespace":true,"logLevel":"debug"}' });
    expect(data?.changingTo).toBeUndefined();
    expect(JSON.parse(data?.createdNamespaces ?? '')).toContain(NAMESPACE);
  });

  it('changes nothing the second time', async () => {
    const { code, stderr } = await cluster.run('install', ...FLAGS);
    expect(stderr).toContain('0 changes;');
    expect(code).toBe(0);
  });

  it('says what it would change, and refuses to overwrite a change of another program', async () => {
    await cluster.kubectl.run(`scale deployment tidegate-apps -n ${NAMESPACE} --replicas=2`);
    const refused = await cluster.run('install', ...FLAGS);
    expect(refused.code).toBe(1);
    expect(refused.stderr).toContain('Deployment edge-system/tidegate-apps:');
    expect(refused.stderr).toContain('--force-conflicts');
    const { code, stderr } = await cluster.run('install', ...FLAGS, '--force-conflicts');
    expect(stderr).toContain('change Deployment edge-system/tidegate-apps (spec.replicas)');
    expect(code).toBe(0);
  });

  it('refuses a second installation in another namespace', async () => {
    const { code, stderr } = await cluster.run('install');
    expect(code).toBe(1);
    expect(stderr).toContain('is installed in namespace edge-system: a cluster has one installation');
  });
});

describe('the manager', () => {
  it('works in its namespace with the permissions of the installation', async () => {
    await cluster.kubectl.apply(
      { apiVersion: 'apps.openyurt.io/v1beta2', kind: 'NodePool', metadata: { name: 'shop' } },
      {
        apiVersion: 'apps.openyurt.io/v1alpha1',
        kind: 'YurtIngress',
        metadata: { name: 'doors' },
        spec: { pools: [{ name: 'shop' }] },
      },
    );
    await cluster.kubectl.run('label node cloud-2 apps.openyurt.io/nodepool=shop');
    await eventually(async () => {
      const { status } = await cluster.client.get(NODE_POOLS, { name: 'shop' });
      return status?.nodes?.includes('cloud-2');
    });
    await eventually(() => exists(L7_ROUTERS, 'shop'));
    // Its webhook answers: the API server cannot write an invalid object.
    await expect(
      cluster.kubectl.apply({
        apiVersion: 'apps.openyurt.io/v1alpha1',
        kind: 'YurtIngress',
        metadata: { name: 'other' },
        spec: { pools: [{ name: 'shop' }] },
      }),
    ).rejects.toThrow(/pool shop already belongs to YurtIngress doors/);
  });
});

describe('tidegate upgrade', () => {
  const setVersion = (version: string): Promise<unknown> =>
    cluster.client.patch(CONFIG_MAPS, INVENTORY, 'merge', { data: { version } });

  it.each([
    ['99.0.0', 'newer than this program'],
    ['0.0.1', 'one minor version at a time'],
  ])('refuses to upgrade version %s', async (version, message) => {
    await setVersion(version);
    const { code, stderr } = await cluster.run('upgrade', ...FLAGS);
    expect({ code, stderr }).toMatchObject({ code: 1, stderr: expect.stringContaining(message) });
  });

  it('upgrades by one minor version, keeps the values, and deletes what the new version does not have', async () => {
    await setVersion('0.1.9');
    const install = await cluster.run('install', ...FLAGS);
    expect(install.stderr).toContain('run tidegate upgrade');
    const { data } = await cluster.client.get(CONFIG_MAPS, INVENTORY);
    const old = { apiVersion: 'v1', kind: 'ConfigMap', namespace: NAMESPACE, name: 'old' };
    const objects = JSON.stringify([...JSON.parse(data?.objects ?? '[]'), old]);
    await cluster.client.patch(CONFIG_MAPS, INVENTORY, 'merge', { data: { objects } });
    await cluster.kubectl.run(`create configmap old -n ${NAMESPACE}`);
    const { code, stderr } = await cluster.run('upgrade', ...FLAGS);
    expect({ code, stderr }).toMatchObject({ code: 0 });
    expect(stderr).toContain('delete ConfigMap edge-system/old');
    expect(await exists(CONFIG_MAPS, 'old', NAMESPACE)).toBe(false);
    const after = await cluster.client.get(CONFIG_MAPS, INVENTORY);
    expect(after.data?.values).toContain('"logLevel":"debug"');
    expect(after.data?.version).not.toBe('0.1.9');
  });
});

describe('tidegate uninstall', () => {
  it('only says what would be lost', async () => {
    const { code, stderr } = await cluster.run('uninstall', ...FLAGS);
    expect(code).toBe(1);
    expect(stderr).toContain('1 YurtIngress: doors');
    expect(stderr).toContain('1 NodePool: shop');
    expect(stderr).toContain('nothing was removed');
    expect(await exists(NODE_POOLS, 'shop')).toBe(true);
  });

  it('refuses a user that may not delete everything, and removes nothing', async () => {
    await cluster.kubectl.run(
      'create clusterrole webhooks-only --verb=get,list,delete --resource=nodes,configmaps,validatingwebhookconfigurations',
    );
    await cluster.kubectl.run('create serviceaccount half -n default');
    await cluster.kubectl.run(
      'create clusterrolebinding half --clusterrole=webhooks-only --serviceaccount=default:half',
    );
    const token = (await cluster.kubectl.run('create token half -n default')).trim();
    const kubeconfig = await cluster.kubeconfigWith(token);
    const { code, stderr } = await finish([
      ...[process.execPath, PROGRAM, 'uninstall', ...FLAGS, '--yes', '--kubeconfig', kubeconfig],
    ]);
    expect(code).toBe(1);
    expect(stderr).toContain('nothing was removed, because');
    expect(stderr).toMatch(
      /the user may not delete .*clusterroles.*: use a kubeconfig of a cluster administrator/,
    );
    expect(await exists(WEBHOOKS, 'tidegate')).toBe(true);
    const wrong = await cluster.kubeconfigWith('wrong');
    const check = await finish([process.execPath, PROGRAM, 'check', ...FLAGS, '--kubeconfig', wrong]);
    expect(check.code).toBe(1);
    expect(check.stdout).toContain('the API server does not accept the credentials of the kubeconfig file');
    expect(check.stdout).toContain('\n1 errors, 0 warnings');
    const unknown = await finish([process.execPath, PROGRAM, 'install', ...FLAGS, '--kubeconfig', wrong]);
    expect(unknown.stderr).toMatch(/the API server https?:\S+ does not accept the credentials/);
  });

  it('refuses while nodes use a hub', async () => {
    await cluster.kubectl.run('annotate node cloud-2 hub.tidegate.io/version=0.2.0');
    const { code, stderr } = await cluster.run('uninstall', ...FLAGS, '--yes');
    expect(code).toBe(1);
    expect(stderr).toContain('these nodes use a hub');
    expect(stderr).toContain('cloud-2');
    await cluster.kubectl.run('annotate node cloud-2 hub.tidegate.io/version-');
  });

  it('refuses another namespace than that of the installation', async () => {
    const { code, stderr } = await cluster.run('uninstall', '--yes');
    expect(code).toBe(1);
    expect(stderr).toContain('is installed in namespace edge-system: use --namespace edge-system');
    expect(await exists(NODE_POOLS, 'shop')).toBe(true);
  });

  it('keeps the CRDs, their objects, the routers, and finalizers of other programs', async () => {
    await cluster.kubectl.run(
      'patch yurtingress doors --type=json -p [{"op":"add","path":"/metadata/finalizers/-","value":"example.com/keep"}]',
    );
    const { code, stderr } = await cluster.run('uninstall', ...FLAGS, '--keep-crds', '--yes');
    expect({ code, stderr }).toMatchObject({ code: 0 });
    const doors = await cluster.client.get(YURT_INGRESSES, { name: 'doors' });
    expect(doors.metadata.finalizers).toEqual(['example.com/keep']);
    await cluster.kubectl.run('patch yurtingress doors --type=merge -p {"metadata":{"finalizers":[]}}');
    expect(await exists(DEPLOYMENTS, 'tidegate-router-shop', 'ingress-nginx')).toBe(true);
    await eventually(async () => !(await exists(NAMESPACES, NAMESPACE)));
  });

  it('removes everything after another installation, also if it is interrupted shortly before its end', async () => {
    await cluster.kubectl.run('delete namespace tidegate-routers');
    const installed = await cluster.run('install', ...FLAGS, '--timeout', '10m');
    expect(installed).toMatchObject({ code: 0 });
    const args = ['uninstall', ...FLAGS, '--yes', '--timeout', '10m'];
    const broken = new TestProcess([process.execPath, PROGRAM, ...args, '--kubeconfig', cluster.kubeconfig]);
    await broken.until(({ stderr }) => stderr.includes('deleting Namespace'));
    await broken.kill('SIGKILL');
    const status = await cluster.run('status', ...FLAGS);
    expect(status.stdout).toContain(
      'its removal was interrupted: run tidegate uninstall --yes to continue it',
    );
    const { code, stderr } = await cluster.run(...args);
    expect({ code, stderr }).toMatchObject({ code: 0, stderr: expect.not.stringContaining('no record') });
    expect(await exists(NAMESPACES, 'tidegate-routers')).toBe(false);
    await eventually(async () => !(await exists(NAMESPACES, NAMESPACE)));
    expect(await exists(DEFINITIONS, 'nodepools.apps.openyurt.io')).toBe(false);
    expect(await exists(DEPLOYMENTS, 'tidegate-router-shop', 'ingress-nginx')).toBe(false);
    // The namespace existed before the second installation, so it is not deleted.
    expect(await exists(NAMESPACES, 'ingress-nginx')).toBe(true);
    const left = await cluster.kubectl.run('get clusterroles,clusterrolebindings -o name');
    expect(left.split('\n').filter((name) => name.includes('tidegate'))).toEqual([]);
    const { metadata } = await cluster.client.get(NODES, { name: 'cloud-2' });
    expect(metadata.annotations?.['pools.tidegate.io/written']).toBeUndefined();
  });

  it('does not touch NodePools of OpenYurt on a cluster without Tidegate', async () => {
    await cluster.kubectl.run(`apply -f ${repositoryFile('deploy/crds/nodepools.apps.openyurt.io.yaml')}`);
    await eventually(async () => {
      await cluster.kubectl.apply({
        apiVersion: 'apps.openyurt.io/v1beta2',
        kind: 'NodePool',
        metadata: { name: 'foreign' },
      });
      return true;
    });
    const { code, stdout } = await cluster.run('uninstall', '--yes');
    expect(stdout).toContain('Tidegate is not installed in namespace tidegate-system. Nothing was removed.');
    expect(code).toBe(0);
    expect(await exists(NODE_POOLS, 'foreign')).toBe(true);
  });

  it('refuses to delete the objects of a Helm release', async () => {
    await cluster.kubectl.apply(
      { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'tidegate-system' } },
      {
        apiVersion: 'v1',
        kind: 'ServiceAccount',
        metadata: {
          name: 'tidegate-pools',
          namespace: 'tidegate-system',
          annotations: { 'meta.helm.sh/release-name': 'edge' },
        },
      },
    );
    const { code, stderr } = await cluster.run('uninstall', '--yes');
    expect(stderr).toContain('belongs to the Helm release edge: remove it with helm uninstall edge');
    expect(code).toBe(1);
    expect(await exists(NODE_POOLS, 'foreign')).toBe(true);
  });
});
