/** The cluster under test: the API server as a process, and nodes with their links and hubs. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { KubeClient, LEASES, loadConfig, NODES, PODS, SECRETS, systemClock } from '@tidegate/kube';
import { installDefinitions } from '../../packages/tidegate/src/manager/install.ts';
import { installRbac } from '../../packages/tidegate/src/supervisor/install.ts';
import { ServingApprover } from '../../packages/tidegate/src/supervisor/serving-approver.ts';
import { accountToken, allowReading } from '../support/accounts.ts';
import { reservePort } from '../support/ports.ts';
import { startApiServerProcess, type Tidegate } from '../support/tidegate.ts';
import { ChaosNode } from './node.ts';

export const NODE_NAMES = ['edge-1', 'edge-2', 'edge-3'] as const;
/** A pod on each node that is never deleted; it keeps the node's secret readable. */
export const permanentPod = (node: string): string => `permanent-${node}`;
export const secretOf = (node: string): string => `secret-${node}`;

export interface Tokens {
  kubeProxy: string;
  router: string;
}

export class World {
  readonly directory: string;
  /** Bypasses all hubs and links. */
  readonly admin: KubeClient;
  readonly nodes: readonly ChaosNode[];
  readonly tokens: Tokens;
  readonly #port: number;
  #server: Tidegate | undefined;
  #log = '';

  private constructor(
    directory: string,
    port: number,
    server: Tidegate,
    admin: KubeClient,
    nodes: readonly ChaosNode[],
    tokens: Tokens,
  ) {
    this.directory = directory;
    this.#port = port;
    this.#server = server;
    this.admin = admin;
    this.nodes = nodes;
    this.tokens = tokens;
  }

  /** Starts `nodeCount` of the nodes; the others exist only by name. */
  static async open(nodeCount: number): Promise<World> {
    const directory = await mkdtemp(join(tmpdir(), 'tidegate-chaos-'));
    const port = await reservePort();
    const { server, kubeconfig } = await startApiServerProcess(directory, port);
    const { signal } = new AbortController();
    const admin = new KubeClient(await loadConfig({ path: kubeconfig, env: {} }), { maxRetries: 0 });
    await installDefinitions(admin, systemClock, signal);
    await installRbac(admin, join(import.meta.dirname, '../../deploy/base/hub.yaml'), signal);
    const nodes = await Promise.all(
      NODE_NAMES.slice(0, nodeCount).map((name) => ChaosNode.open(name, admin, directory)),
    );
    const world = new World(directory, port, server, admin, nodes, await accounts(admin));
    await world.#populate();
    return world;
  }

  get serverRunning(): boolean {
    return this.#server?.running === true;
  }

  async startServer(): Promise<void> {
    if (this.serverRunning) return;
    ({ server: this.#server } = await startApiServerProcess(this.directory, this.#port));
  }

  async killServer(): Promise<void> {
    await this.#server?.kill('SIGKILL');
    this.#log += this.#server?.stderr ?? '';
    this.#server = undefined;
  }

  async close({ keep }: { keep: boolean }): Promise<void> {
    await this.admin.close();
    await Promise.all(this.nodes.map((node) => node.close()));
    await this.killServer();
    await writeFile(join(this.directory, 'apiserver.log'), this.#log);
    if (!keep) await rm(this.directory, { recursive: true, force: true });
  }

  /** Gives the hubs their certificates, and registers the nodes through them. */
  async #populate(): Promise<void> {
    const known = this.nodes.map(({ name }) => ({ name, address: '127.0.0.1' }));
    const approver = new ServingApprover(this.admin, known, (line) => {
      this.#log += `${line}\n`;
    });
    for (const name of NODE_NAMES) {
      const metadata = { name: secretOf(name), namespace: 'default' };
      await this.admin.create(SECRETS, { apiVersion: 'v1', kind: 'Secret', metadata });
    }
    await approver.run();
    try {
      await Promise.all(this.nodes.map((node) => this.#register(node)));
    } finally {
      await approver.close();
    }
  }

  async #register(node: ChaosNode): Promise<void> {
    await node.startHub();
    while (!(await node.ready())) await sleep(50);
    const kubelet = node.asNode('kubelet');
    const { name } = node;
    await kubelet.create(NODES, { apiVersion: 'v1', kind: 'Node', metadata: { name } });
    await kubelet.create(LEASES, {
      apiVersion: 'coordination.k8s.io/v1',
      kind: 'Lease',
      metadata: { name, namespace: 'kube-node-lease' },
      spec: { holderIdentity: name, renewTime: new Date().toISOString().replace('Z', '000Z') },
    });
    await kubelet.get(LEASES, { name, namespace: 'kube-node-lease' });
    await kubelet.close();
    await this.admin.create(PODS, podOf(permanentPod(name), name));
  }
}

export const podOf = (name: string, nodeName: string) => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name, namespace: 'default' },
  spec: {
    nodeName,
    containers: [{ name: 'c', image: 'i', envFrom: [{ secretRef: { name: secretOf(nodeName) } }] }],
  },
});

async function accounts(admin: KubeClient): Promise<Tokens> {
  const services = { group: '', resource: 'services' };
  const slices = { group: 'discovery.k8s.io', resource: 'endpointslices' };
  const ingresses = { group: 'networking.k8s.io', resource: 'ingresses' };
  await allowReading(admin, 'kube-proxy', [services, slices]);
  await allowReading(admin, 'router', [ingresses, slices]);
  return { kubeProxy: await accountToken(admin, 'kube-proxy'), router: await accountToken(admin, 'router') };
}
