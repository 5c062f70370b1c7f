import type { KubeList } from '@tidegate/kube';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  TOPOLOGY_KEY_NODE,
  TOPOLOGY_KEY_POOL,
  TOPOLOGY_KEYS_ANNOTATION,
} from '../../packages/tidegate/src/api/index.ts';
import { eventually } from '../support/cluster.ts';
import { findKubectl } from '../support/kubectl.ts';
import { ControlPlane, KUBERNETES_CLUSTER_IP, SERVER_ADDRESS, SERVER_URL } from './support/control-plane.ts';
import { EdgeNode, HUB_ADDRESS } from './support/edge-node.ts';
import { KubeProxy } from './support/kube-proxy.ts';
import { connect, Namespace } from './support/namespace.ts';
import { createNode, createPod, POD_PORT, patchStatus, webService } from './support/objects.ts';
import { Program } from './support/program.ts';

/** The hub runs on edge-1. edge-2 is in the same pool at first; far-1 is in another. */
const PODS = { 'edge-1': '10.244.1.1', 'edge-2': '10.244.2.1', 'far-1': '10.244.3.1' };
const POOL = 'shop';
const WEB = '10.96.0.80';
const endpoints = (...nodes: (keyof typeof PODS)[]): string[] =>
  nodes.map((node) => `${PODS[node]}:${POD_PORT}`);
const EVERYWHERE = endpoints('edge-1', 'edge-2', 'far-1');
const CLUSTER_IPS = 'get services -o jsonpath={.items[*].spec.clusterIP}';
const OWN_PODS = 'get pods -A --field-selector spec.nodeName=edge-1 -o name';

let cloud: ControlPlane;
let edgeNamespace: Namespace;
let edge: EdgeNode;
/** Runs in the cloud, without a hub, for comparison. */
let plainProxy: KubeProxy;
/** Tokens of a service account with all permissions, and of one with the default permissions. */
let adminToken: string;
let guestToken: string;

beforeAll(async () => {
  cloud = await ControlPlane.create();
  edgeNamespace = await Namespace.create('edge');
  await connect(cloud.namespace, SERVER_ADDRESS, edgeNamespace, '10.99.0.2');
  await cloud.start();
  await createAccounts();
  await createWorkload();
  const kubeProxyToken = await cloud.token('kube-system', 'kube-proxy');
  edge = new EdgeNode(cloud, edgeNamespace, 'edge-1', kubeProxyToken);
  await edge.startPods(Object.values(PODS));
  await edge.startHub(approveCertificates);
  await edge.kubeProxy.start();
  const direct = cloud.credentials.kubeconfig('plain-kube-proxy', SERVER_URL, { token: kubeProxyToken });
  plainProxy = new KubeProxy(cloud, cloud.namespace, 'cloud-1', direct);
  await plainProxy.start();
});
afterAll(async () => {
  await edgeNamespace?.remove();
  await cloud?.remove();
});

async function createAccounts(): Promise<void> {
  const { kubectl } = cloud;
  await kubectl.run('apply -f deploy/base/hub.yaml');
  for (const [account, role] of [
    ['kube-system:kube-proxy', 'system:node-proxier'],
    ['default:admin', 'cluster-admin'],
  ] as const) {
    const [namespace, name] = account.split(':');
    await kubectl.run(`-n ${namespace} create serviceaccount ${name}`);
    await kubectl.run(
      `create clusterrolebinding test-${name} --clusterrole=${role} --serviceaccount=${account}`,
    );
  }
  adminToken = await cloud.token('default', 'admin');
  guestToken = await cloud.token('default', 'default');
}

/** Approves certificates in place of the manager, which does not support this old API server. */
const approveCertificates = async (): Promise<void> => {
  const requests = (await cloud.kubectl.run('get csr -o name')).split('\n').filter(Boolean);
  if (requests.length > 0) await cloud.kubectl.run(`certificate approve ${requests.join(' ')}`);
};

async function createWorkload(): Promise<void> {
  const { kubectl } = cloud;
  // This version of Kubernetes does not support validation rules in CRDs. Without client-side validation, it
  // ignores them.
  await kubectl.run('apply --validate=false -f deploy/crds/nodepools.apps.openyurt.io.yaml');
  await kubectl.run('wait --for=condition=Established crd/nodepools.apps.openyurt.io');
  await kubectl.apply({
    apiVersion: 'apps.openyurt.io/v1beta2',
    kind: 'NodePool',
    metadata: { name: POOL },
    spec: {},
  });
  await setMembers('edge-1', 'edge-2');
  for (const node of Object.keys(PODS)) await createNode(kubectl, node);
  for (const [node, address] of Object.entries(PODS)) await createPod(kubectl, `web-${node}`, node, address);
  await kubectl.apply(webService('web', WEB));
}

const setMembers = (...nodes: (keyof typeof PODS)[]): Promise<void> =>
  patchStatus(cloud.kubectl, `nodepool ${POOL}`, { nodes });

/** An empty string removes the annotation. */
const setTopology = (keys: string): Promise<string> =>
  cloud.kubectl.run(
    `annotate service web --overwrite ${TOPOLOGY_KEYS_ANNOTATION}${keys && '='}${keys || '-'}`,
  );

/**
 * The pods that answer at the address of the Service. The probability that 50 requests miss one of three pods
 * is below 1 in 100 million.
 */
async function answering(): Promise<string[]> {
  const urls = Array.from({ length: 50 }, () => `http://${WEB}`);
  return [
    ...new Set((await edge.curl('-H', 'Connection: close', ...urls)).split('\n').filter(Boolean)),
  ].sort();
}

describe('a node with a hub', () => {
  it('sends traffic for the API server to its hub', async () => {
    await edge.kubeProxy.sends(KUBERNETES_CLUSTER_IP, 443, [`${HUB_ADDRESS}:10268`]);
    await plainProxy.sends(KUBERNETES_CLUSTER_IP, 443, [`${SERVER_ADDRESS}:6443`]);
  });

  it('answers curl with a token at the address of the Service kubernetes', async () => {
    expect(JSON.parse(await edge.ask('/api', adminToken))).toMatchObject({ kind: 'APIVersions' });
    expect(JSON.parse(await edge.ask('/version', adminToken))).toMatchObject({ gitVersion: 'v1.20.2' });
  });

  it('does not grant permissions that a client does not have', async () => {
    const anonymous = JSON.parse(await edge.ask('/api/v1/services'));
    expect(anonymous).toMatchObject({ kind: 'Status', reason: 'Forbidden' });
    expect(anonymous.message).toContain('system:anonymous');
    const guest = JSON.parse(await edge.ask('/api/v1/services', guestToken));
    expect(guest).toMatchObject({ kind: 'Status', reason: 'Forbidden' });
    expect(guest.message).toContain('system:serviceaccount:default:default');
  });
});

describe('a kubelet through a hub', () => {
  it('reads its node and its pods with its certificate', async () => {
    expect(await edge.kubelet.run('get node edge-1 -o name')).toBe('node/edge-1\n');
    expect(await edge.kubelet.run(OWN_PODS)).toBe('pod/web-edge-1\n');
  });
});

describe('the scope of a Service', () => {
  it('includes all nodes without an annotation', async () => {
    await edge.kubeProxy.sends(WEB, 80, EVERYWHERE);
    expect(await answering()).toEqual(Object.values(PODS));
  });

  it('is the node if the annotation names the node', async () => {
    await setTopology(TOPOLOGY_KEY_NODE);
    await edge.kubeProxy.sends(WEB, 80, endpoints('edge-1'));
    expect(await answering()).toEqual([PODS['edge-1']]);
    await plainProxy.sends(WEB, 80, EVERYWHERE);
  });

  it('is the pool if the annotation names the pool', async () => {
    await setTopology(TOPOLOGY_KEY_POOL);
    await edge.kubeProxy.sends(WEB, 80, endpoints('edge-1', 'edge-2'));
    expect(await answering()).toEqual([PODS['edge-1'], PODS['edge-2']]);
  });

  it('changes when nodes move between pools', async () => {
    await setMembers('edge-1', 'far-1');
    await edge.kubeProxy.sends(WEB, 80, endpoints('edge-1', 'far-1'));
    await setMembers('edge-2', 'far-1');
    await edge.kubeProxy.sends(WEB, 80, endpoints('edge-1'));
    await setMembers('edge-1', 'edge-2');
    await edge.kubeProxy.sends(WEB, 80, endpoints('edge-1', 'edge-2'));
    await plainProxy.sends(WEB, 80, EVERYWHERE);
  });
});

describe('a response of the API server in protobuf', () => {
  it.each(['api/v1/services', 'api/v1/endpoints', 'apis/discovery.k8s.io/v1beta1/endpointslices'])(
    'is the same as in JSON: %s',
    async (path) => {
      await eventually(`the hub has all of ${path}`, async () => {
        const direct: KubeList = JSON.parse(await cloud.kubectl.run(`get --raw /${path}`));
        const { items } = JSON.parse(await edge.ask(`/${path}`, adminToken)) as KubeList;
        expect(items.length).toBeGreaterThan(0);
        expect(items.map(({ apiVersion, kind, ...item }) => item)).toStrictEqual(direct.items);
        return true;
      });
    },
  );

  it('is used for watches as well', async () => {
    const before = await protobufBytes();
    expect(before).toBeGreaterThan(0);
    await cloud.kubectl.run('label service web seen=yes');
    await eventually(
      'the change arrives in protobuf',
      async () => (await protobufBytes()) > before || undefined,
    );
  });
});

async function protobufBytes(): Promise<number> {
  const metrics = await edge.curl('http://127.0.0.1:10267/metrics');
  const [, bytes = '0'] =
    /^tidegate_hub_upstream_received_bytes_total{.*encoding="protobuf"} (.*)$/m.exec(metrics) ?? [];
  return Number(bytes);
}

describe('kubectl through a hub', () => {
  it('reads, writes and watches', async () => {
    const kubectl = edge.kubectl(adminToken);
    expect(await kubectl.run('get services')).toContain(WEB);
    expect(await kubectl.run(CLUSTER_IPS)).toContain(WEB);
    expect(await kubectl.run('api-resources')).toContain('nodepools');
    const watch = new Program(
      edgeNamespace,
      cloud.directory,
      [findKubectl(), '--kubeconfig', edge.kubeconfig(adminToken), 'get', 'configmaps', '-w', '-o', 'name'],
      'kubectl-watch',
    );
    await watch.start(async () => expect(watch.lastLines()).toContain('kube-root-ca.crt'));
    const configMap = {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'menu' },
      data: { dish: 'soup' },
    };
    expect(await kubectl.apply(configMap)).toContain('configmap/menu created');
    await eventually(
      'the watch shows the ConfigMap',
      () => watch.lastLines().includes('configmap/menu') || undefined,
    );
    expect(await kubectl.apply({ ...configMap, data: { dish: 'stew' } })).toContain(
      'configmap/menu configured',
    );
    expect(await kubectl.run('get configmap menu -o jsonpath={.data.dish}')).toBe('stew');
    await watch.stop();
  });
});

describe('while the API server is unreachable', () => {
  it('everything works as before, also after a restart of the hub and kube-proxy', async () => {
    await cloud.stopApiServer();
    await edge.kubeProxy.stop();
    await edge.hub.stop();
    await edge.startHub();
    await edge.kubeProxy.start();
    await edge.kubeProxy.sends(KUBERNETES_CLUSTER_IP, 443, [`${HUB_ADDRESS}:10268`]);
    await edge.kubeProxy.sends(WEB, 80, endpoints('edge-1', 'edge-2'));
    expect(await answering()).toEqual([PODS['edge-1'], PODS['edge-2']]);
    expect(JSON.parse(await edge.ask('/api', adminToken))).toMatchObject({ kind: 'APIVersions' });
    expect(JSON.parse(await edge.ask('/api/v1/services', guestToken))).not.toHaveProperty('items');
  });

  it('kubectl and the kubelet can read what they have read before', async () => {
    expect(await edge.kubectl(adminToken).run(CLUSTER_IPS)).toContain(WEB);
    expect(await edge.kubelet.run(OWN_PODS)).toBe('pod/web-edge-1\n');
  });

  it('a write is rejected with an explanation', async () => {
    const options = ['--json', JSON.stringify({ metadata: { name: 'offline' } })];
    const answer = JSON.parse(
      await edge.ask('/api/v1/namespaces/default/configmaps', adminToken, ...options),
    );
    expect(answer).toMatchObject({ kind: 'Status', reason: 'ServiceUnavailable', code: 503 });
  });

  it('the node catches up when the API server is reachable again', async () => {
    await cloud.startApiServer();
    await setTopology('');
    await edge.kubeProxy.sends(WEB, 80, EVERYWHERE);
    expect(await answering()).toEqual(Object.values(PODS));
  });
});
