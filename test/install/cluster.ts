/** A cluster without Tidegate: an embedded API server, controllers, and nodes that run pods as processes. */
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { KubeClient, loadConfig, NODES } from '@tidegate/kube';
import { parse, stringify } from 'yaml';
import { Kubectl } from '../support/kubectl.ts';
import { reservePort } from '../support/ports.ts';
import { type Finished, finish } from '../support/process.ts';
import { PROGRAM } from '../support/repository.ts';
import { Tidegate } from '../support/tidegate.ts';

export class EmptyCluster {
  readonly client: KubeClient;
  readonly kubectl: Kubectl;
  readonly kubeconfig: string;
  readonly #directory: string;
  readonly #processes: Tidegate[];

  private constructor(directory: string, kubeconfig: string, client: KubeClient, processes: Tidegate[]) {
    this.#directory = directory;
    this.kubeconfig = kubeconfig;
    this.kubectl = new Kubectl(kubeconfig);
    this.client = client;
    this.#processes = processes;
  }

  /** `range` is the second number of all addresses of the cluster. */
  static async start(range: number, nodes: readonly string[]): Promise<EmptyCluster> {
    const directory = await mkdtemp(join(tmpdir(), 'tidegate-install-'));
    const kubeconfig = join(directory, 'kubeconfig');
    const server = new Tidegate([
      'apiserver',
      ...['--state', join(directory, 'data'), '--port', String(await reservePort())],
      ...['--kubeconfig', kubeconfig, '--service-cluster-ip-range', `127.${range + 1}.0.0/16`],
    ]);
    while (!existsSync(kubeconfig)) {
      if (!server.running) throw new Error(`tidegate apiserver did not start: ${server.stderr}`);
      await sleep(5);
    }
    const shared = ['--kubeconfig', kubeconfig];
    const processes = [
      server,
      new Tidegate(['controllers', ...shared, '--cluster-cidr', `127.${range}.0.0/16`]),
      ...nodes.map(
        (name, index) =>
          new Tidegate([
            'node',
            ...['--node-name', name, ...shared, '--state', join(directory, name)],
            ...['--address', `127.${range}.250.${index + 1}`],
          ]),
      ),
    ];
    const client = new KubeClient(await loadConfig({ path: kubeconfig, env: {} }));
    const isReady = async (): Promise<boolean> => {
      const { items } = await client.list(NODES);
      const ready = items.filter(({ status }) =>
        status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True'),
      );
      return ready.length === nodes.length;
    };
    while (!(await isReady())) await sleep(100);
    return new EmptyCluster(directory, kubeconfig, client, processes);
  }

  /** Runs a command of the program with the administrator's kubeconfig. */
  run(...args: string[]): Promise<Finished> {
    return finish([process.execPath, PROGRAM, ...args, '--kubeconfig', this.kubeconfig]);
  }

  /** A kubeconfig of another user. Returns its path. */
  async kubeconfigWith(token: string): Promise<string> {
    const config = parse(await readFile(this.kubeconfig, 'utf8')) as { users: { user: object }[] };
    for (const each of config.users) each.user = { token };
    const path = join(await mkdtemp(join(this.#directory, 'user-')), 'kubeconfig');
    await writeFile(path, stringify(config));
    return path;
  }

  async stop(): Promise<void> {
    await this.client.close();
    // Nodes stop their pods, for which they need the API server.
    for (const process of this.#processes.toReversed()) await process.kill('SIGTERM');
    await rm(this.#directory, { recursive: true, force: true });
  }
}
