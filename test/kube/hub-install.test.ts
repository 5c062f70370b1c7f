/** `tidegate hub install` and `uninstall` on nodes with a real kubelet: the program is installed as the guide describes. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { KubeObject } from '@tidegate/kube';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '../support/cluster.ts';
import { CLOUD, RealCluster } from './cluster/cluster.ts';
import { installTidegate, tidegate } from './cluster/install.ts';
import { KUBE_PROXY_CONF, KUBELET_CONF, Machine, packProgram } from './cluster/machine.ts';
import { untilReady } from './cluster/node.ts';
import { SERVER_URL } from './support/control-plane.ts';

const HUB = 'https://127.0.0.1:10268';
const VERSION_ANNOTATION = 'hub.tidegate.io/version';
const TOKEN = 'tidega.0123456789abcdef';
const BOOTSTRAP_RIGHTS = {
  'node-bootstrapper': 'system:node-bootstrapper',
  'node-client': 'system:certificates.k8s.io:certificatesigningrequests:nodeclient',
};

let cluster: RealCluster;
let proxyToken: string;
let shop: Machine;
let depot: Machine;
let bank: Machine;

beforeAll(async () => {
  cluster = await RealCluster.create({ [CLOUD]: ['cloud-1'], shop: ['shop-1', 'shop-2', 'shop-3'] }, []);
  await cluster.startCloud();
  proxyToken = await cluster.cloud.token('kube-system', 'kube-proxy');
  [shop, depot, bank] = cluster.edge.map((node) => new Machine(node)) as [Machine, Machine, Machine];
  const packed = await packProgram(cluster.cloud.directory);
  // The machines have not joined the cluster yet, so the manager runs in the cloud.
  await Promise.all([installTidegate(cluster), ...[shop, depot, bank].map((each) => each.start(packed))]);
});
afterAll(() => cluster?.stop());

const annotations = async (name: string): Promise<Record<string, string>> =>
  (await cluster.kubectl.json<KubeObject>(`get node ${name}`)).metadata.annotations ?? {};

/** When the kubelet last renewed the lease of its node. */
const heartbeat = async (name: string): Promise<number> =>
  Date.parse(await cluster.kubectl.run(`-n kube-node-lease get lease ${name} -o jsonpath={.spec.renewTime}`));

/** Resolves when the kubelet has reached the API server after this call. */
async function untilHeartbeat(name: string): Promise<void> {
  const before = await heartbeat(name);
  await eventually(`the kubelet of ${name} renews its lease`, async () => (await heartbeat(name)) > before);
}

const exists = (machine: Machine, path: string): boolean => existsSync(join(machine.node.root, path));

describe('a node that has joined, with a hub as a service', () => {
  it('is taken over when the hub answers, with kube-proxy', async () => {
    await shop.join(proxyToken);
    await untilReady(cluster.cloud, [shop.node]);
    const { code, output, stdout } = await shop.tidegate('hub', 'install', '--take-over', KUBE_PROXY_CONF);
    expect({ code, output }).toMatchObject({ code: 0 });
    expect(stdout).toContain('The hub of node shop-1 runs, and the kubelet uses it.');
    for (const file of [KUBELET_CONF, KUBE_PROXY_CONF]) expect(shop.serverIn(file)).toBe(HUB);
    expect(shop.read(KUBELET_CONF)).toContain('# Written when the node joined.');
    expect(shop.serverIn('/etc/kubernetes/hub.conf')).toBe(SERVER_URL);
    await shop.systemctl('restart', 'kube-proxy.service');
    await untilHeartbeat('shop-1');
    await eventually(
      'the hub announces itself',
      async () => VERSION_ANNOTATION in (await annotations('shop-1')),
    );
  });

  it('gives the kubelet its answers: without the hub, the node has no heartbeat', async () => {
    await untilReady(cluster.cloud, [shop.node]);
    await shop.systemctl('stop', 'tidegate-hub.service');
    const before = await heartbeat('shop-1');
    await eventually('tidegate check names the node', async () => {
      const { code, stdout } = await tidegate(cluster, 'check');
      expect(stdout).toMatch(/ERROR {3}node shop-1 has not reached the API server for \d+ s/);
      expect(code).toBe(1);
      return true;
    });
    expect(await heartbeat('shop-1')).toBe(before);
    await shop.systemctl('start', 'tidegate-hub.service');
    await untilReady(cluster.cloud, [shop.node]);
  });

  it('can be installed a second time, and finds the API server in its record', async () => {
    const { code, output } = await shop.tidegate('hub', 'install', '--take-over', KUBE_PROXY_CONF);
    expect({ code, output }).toMatchObject({ code: 0 });
    expect(shop.serverIn('/etc/kubernetes/hub.conf')).toBe(SERVER_URL);
  });

  it('blocks tidegate uninstall, which names it', async () => {
    const { code, stderr } = await tidegate(cluster, 'uninstall', '--yes');
    expect(code).toBe(1);
    expect(stderr).toContain('these nodes use a hub, which needs permissions that would be deleted: shop-1');
  });

  it('is given back, and works without the hub', async () => {
    const { code, output, stdout } = await shop.tidegate('hub', 'uninstall');
    expect({ code, output }).toMatchObject({ code: 0 });
    expect(stdout).toContain('The hub is removed');
    for (const file of [KUBELET_CONF, KUBE_PROXY_CONF]) expect(shop.serverIn(file)).toBe(SERVER_URL);
    await expect(shop.systemctl('is-active', 'tidegate-hub.service')).rejects.toThrow('exited with 3');
    for (const file of ['/etc/kubernetes/hub.conf', '/etc/systemd/system/tidegate-hub.service'])
      expect(exists(shop, file)).toBe(false);
    expect(await annotations('shop-1')).not.toHaveProperty(VERSION_ANNOTATION);
    await untilHeartbeat('shop-1');
    await untilReady(cluster.cloud, [shop.node]);
  });

  it('is not taken over if its kubeconfig names the hub and nothing is known about it', async () => {
    const text = shop.read(KUBELET_CONF);
    shop.write(KUBELET_CONF, text.replace(SERVER_URL, HUB));
    const { code, stderr } = await shop.tidegate('hub', 'install');
    shop.write(KUBELET_CONF, text);
    expect(code).toBe(1);
    expect(stderr).toContain('the hub would be its own API server');
    expect(exists(shop, '/etc/kubernetes/hub.conf')).toBe(false);
  });

  it('keeps the API server if the kubelet does not work behind the hub', async () => {
    // This kubelet only starts with the API server.
    const unit = shop.read('/etc/systemd/system/kubelet.service');
    shop.write(
      '/usr/local/bin/picky',
      `#!/bin/sh\ngrep -q ${SERVER_URL} ${KUBELET_CONF} && exec "$@"\n`,
      0o755,
    );
    shop.write(
      '/etc/systemd/system/kubelet.service',
      unit.replace('ExecStart=', 'ExecStart=/usr/local/bin/picky '),
    );
    const { code, stderr } = await shop.tidegate('hub', 'install', '--timeout', '20s');
    expect(code).toBe(1);
    expect(stderr).toContain('the kubelet does not work behind the hub');
    expect(shop.serverIn(KUBELET_CONF)).toBe(SERVER_URL);
    await untilHeartbeat('shop-1');
    expect((await shop.tidegate('hub', 'uninstall')).code).toBe(0);
    shop.write('/etc/systemd/system/kubelet.service', unit);
  });
});

describe('a hub as a static pod', () => {
  it('is started by the kubelet, which then uses it', async () => {
    await depot.join(proxyToken);
    await untilReady(cluster.cloud, [depot.node]);
    const { code, output } = await depot.tidegate('hub', 'install', '--as', 'static-pod', '--timeout', '5m');
    expect({ code, output }).toMatchObject({ code: 0 });
    expect(depot.serverIn(KUBELET_CONF)).toBe(HUB);
    await untilHeartbeat('shop-2');
    await eventually('the pod of the hub is ready', async () => {
      const pod = await cluster.kubectl.run(
        '-n kube-system get pod tidegate-hub-shop-2 -o jsonpath={.status.conditions[?(@.type=="Ready")].status}',
      );
      return pod === 'True';
    });
  });

  it('is removed, and the kubelet uses the API server', async () => {
    const { code, output } = await depot.tidegate('hub', 'uninstall');
    expect({ code, output }).toMatchObject({ code: 0 });
    expect(depot.serverIn(KUBELET_CONF)).toBe(SERVER_URL);
    await untilHeartbeat('shop-2');
    await eventually('the pod of the hub is gone', async () => {
      const pods = await cluster.kubectl.run('-n kube-system get pods -o name');
      return !pods.includes('tidegate-hub');
    });
  });
});

describe('a new node with a bootstrap token', () => {
  it('joins through the hub: both request their certificates', async () => {
    await cluster.kubectl.apply(
      {
        apiVersion: 'v1',
        kind: 'Secret',
        metadata: { name: 'bootstrap-token-tidega', namespace: 'kube-system' },
        type: 'bootstrap.kubernetes.io/token',
        stringData: {
          ...{ 'token-id': 'tidega', 'token-secret': '0123456789abcdef' },
          ...{ 'usage-bootstrap-authentication': 'true', 'auth-extra-groups': 'system:bootstrappers:edge' },
        },
      },
      ...Object.entries(BOOTSTRAP_RIGHTS).map(([name, role]) => ({
        apiVersion: 'rbac.authorization.k8s.io/v1',
        kind: 'ClusterRoleBinding',
        metadata: { name },
        roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: role },
        subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'Group', name: 'system:bootstrappers' }],
      })),
    );
    const { code, output } = await bank.tidegate(
      ...['hub', 'install', '--node-token', TOKEN, '--server', SERVER_URL],
      ...['--ca-file', cluster.cloud.credentials.caFile, '--timeout', '5m'],
    );
    expect({ code, output }).toMatchObject({ code: 0 });
    await untilReady(cluster.cloud, [bank.node]);
    expect(bank.serverIn(KUBELET_CONF)).toBe(HUB);
    const requests = await cluster.kubectl.run('get csr');
    expect(requests).toMatch(/kube-apiserver-client-kubelet +system:bootstrap:tidega +Approved,Issued/);
    expect(requests).toMatch(/kubelet-serving +system:node:shop-3 +Approved,Issued/);
    expect(output).not.toContain('0123456789abcdef');
  });

  it('stays in the cluster when the hub is removed', async () => {
    const { code, output } = await bank.tidegate('hub', 'uninstall');
    expect({ code, output }).toMatchObject({ code: 0 });
    expect(bank.serverIn(KUBELET_CONF)).toBe(SERVER_URL);
    expect(exists(bank, '/etc/kubernetes/hub-bootstrap.conf')).toBe(false);
    await untilHeartbeat('shop-3');
  });
});
