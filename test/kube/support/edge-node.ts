import { join, resolve } from 'node:path';
import { Kubectl } from '../../support/kubectl.ts';
import { type ControlPlane, KUBERNETES_CLUSTER_IP, SERVER_URL } from './control-plane.ts';
import { KubeProxy } from './kube-proxy.ts';
import type { Namespace } from './namespace.ts';
import { POD_PORT } from './objects.ts';
import { Program } from './program.ts';

const TIDEGATE = [process.execPath, resolve(import.meta.dirname, '../../../bin/tidegate')];
export const HUB_ADDRESS = '169.254.2.1';
const HUB_URL = `https://${HUB_ADDRESS}:10268`;
const IN_CLUSTER_URL = `https://${KUBERNETES_CLUSTER_IP}:443`;

/**
 * A node at the edge: a hub, a kube-proxy that only connects to the hub, and HTTP servers in place of pods.
 */
export class EdgeNode {
  readonly hub: Program;
  readonly kubeProxy: KubeProxy;
  /** kubectl with the certificate of the node, as a kubelet would connect. */
  readonly kubelet: Kubectl;
  readonly #cloud: ControlPlane;
  readonly #namespace: Namespace;

  constructor(cloud: ControlPlane, namespace: Namespace, name: string, kubeProxyToken: string) {
    this.#cloud = cloud;
    this.#namespace = namespace;
    const { credentials, directory } = cloud;
    const identity = credentials.client(`system:node:${name}`, 'system:nodes');
    this.hub = new Program(
      namespace,
      directory,
      [
        ...[...TIDEGATE, 'hub', '--node-name', name, '--hub-address', HUB_ADDRESS],
        ...['--kubeconfig', credentials.kubeconfig(name, SERVER_URL, identity)],
        ...['--state', join(directory, 'hub')],
      ],
      'hub',
    );
    this.kubelet = new Kubectl(credentials.kubeconfig('kubelet', HUB_URL, identity), namespace.wrapper);
    const throughHub = credentials.kubeconfig('kube-proxy', HUB_URL, { token: kubeProxyToken });
    this.kubeProxy = new KubeProxy(cloud, namespace, name, throughHub);
  }

  /** Runs `meanwhile` repeatedly until the hub is ready, for example to approve its certificate. */
  startHub(meanwhile?: () => Promise<void>): Promise<void> {
    return this.hub.start(async () => {
      await meanwhile?.();
      await this.#namespace.run('curl', '-sS', '--fail-with-body', 'http://127.0.0.1:10267/v1/readyz');
    });
  }

  /** Starts HTTP servers at these addresses, which are added to the node. */
  async startPods(addresses: readonly string[]): Promise<void> {
    for (const address of addresses) await this.#namespace.addAddress(address);
    const command = [process.execPath, join(import.meta.dirname, 'pods.js'), String(POD_PORT), ...addresses];
    const pods = new Program(this.#namespace, this.#cloud.directory, command, 'pods');
    await pods.start(() => this.curl(`http://${addresses.at(-1)}:${POD_PORT}`));
  }

  curl(...args: string[]): Promise<string> {
    return this.#namespace.run('curl', '-sS', '--max-time', '20', ...args);
  }

  /** Sends a request to the API server as a program in a pod does. Without a token, it is anonymous. */
  ask(path: string, token?: string, ...options: string[]): Promise<string> {
    const proof = token === undefined ? [] : ['-H', `Authorization: Bearer ${token}`];
    const { caFile } = this.#cloud.credentials;
    return this.curl('--cacert', caFile, ...proof, ...options, `${IN_CLUSTER_URL}${path}`);
  }

  kubectl(token: string): Kubectl {
    return new Kubectl(this.kubeconfig(token), this.#namespace.wrapper);
  }

  kubeconfig(token: string): string {
    return this.#cloud.credentials.kubeconfig('in-cluster', IN_CLUSTER_URL, { token });
  }
}
