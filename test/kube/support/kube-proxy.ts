import { expect } from 'vitest';
import { eventually } from '../../support/cluster.ts';
import type { ControlPlane } from './control-plane.ts';
import type { Namespace } from './namespace.ts';
import type { Program } from './program.ts';
import { destinations } from './rules.ts';

/** A real kube-proxy. It writes what it reads with its kubeconfig to the iptables rules of its namespace. */
export class KubeProxy {
  readonly #namespace: Namespace;
  readonly #program: Program;

  constructor(cloud: ControlPlane, namespace: Namespace, node: string, kubeconfig: string) {
    this.#namespace = namespace;
    const options = {
      kubeconfig,
      'hostname-override': node,
      'proxy-mode': 'iptables',
      // These settings apply to the whole machine, so the test must not change them.
      'conntrack-max-per-core': '0',
      'conntrack-tcp-timeout-established': '0s',
      'conntrack-tcp-timeout-close-wait': '0s',
    };
    this.#program = cloud.program('kube-proxy', options, namespace, `kube-proxy-${node}`);
  }

  start(): Promise<void> {
    return this.#program.start(() => this.#namespace.run('curl', '-sSf', 'http://127.0.0.1:10256/healthz'));
  }

  /**
   * kube-proxy leaves its rules behind. They are removed, so that old rules are not mistaken for new ones.
   */
  async stop(): Promise<void> {
    await this.#program.stop();
    await this.#namespace.run('iptables', '-t', 'nat', '-F');
  }

  /** Waits until the iptables rules send traffic for the Service to exactly these endpoints. */
  async sends(clusterIp: string, port: number, expected: readonly string[]): Promise<void> {
    const what = `${clusterIp}:${port} is forwarded to ${expected.join(' and ')}`;
    await eventually(what, async () => {
      expect(await this.destinations(clusterIp, port)).toEqual(expected);
      return true;
    });
  }

  async destinations(clusterIp: string, port: number): Promise<string[]> {
    return destinations(await this.#namespace.run('iptables-save', '-t', 'nat'), clusterIp, port);
  }
}
