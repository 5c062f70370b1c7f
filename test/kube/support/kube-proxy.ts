import { expect } from 'vitest';
import { eventually } from '../../support/cluster.ts';
import type { ControlPlane } from './control-plane.ts';
import type { Namespace } from './namespace.ts';
import type { Program } from './program.ts';
import { destinations } from './rules.ts';

/** A real kube-proxy: what it learns with its kubeconfig it writes into the firewall of its namespace. */
export class KubeProxy {
  readonly #namespace: Namespace;
  readonly #program: Program;

  constructor(cloud: ControlPlane, namespace: Namespace, node: string, kubeconfig: string) {
    this.#namespace = namespace;
    const options = {
      kubeconfig,
      'hostname-override': node,
      'proxy-mode': 'iptables',
      // The kernel keeps these for the whole machine, which is not ours to change.
      'conntrack-max-per-core': '0',
      'conntrack-tcp-timeout-established': '0s',
      'conntrack-tcp-timeout-close-wait': '0s',
    };
    this.#program = cloud.program('kube-proxy', options, namespace, `kube-proxy-${node}`);
  }

  start(): Promise<void> {
    return this.#program.start(() => this.#namespace.run('curl', '-sSf', 'http://127.0.0.1:10256/healthz'));
  }

  /** It leaves its rules behind: whoever finds them again later can not tell how old they are. */
  async stop(): Promise<void> {
    await this.#program.stop();
    await this.#namespace.run('iptables', '-t', 'nat', '-F');
  }

  /** Waits until the firewall sends what is meant for the Service to exactly these. */
  async sends(clusterIp: string, port: number, expected: readonly string[]): Promise<void> {
    const what = `${clusterIp}:${port} leads to ${expected.join(' and ')}`;
    await eventually(what, async () => {
      expect(await this.destinations(clusterIp, port)).toEqual(expected);
      return true;
    });
  }

  async destinations(clusterIp: string, port: number): Promise<string[]> {
    return destinations(await this.#namespace.run('iptables-save', '-t', 'nat'), clusterIp, port);
  }
}
