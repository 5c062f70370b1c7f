import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { KubeClient, loadConfig, type Pod } from '@tidegate/kube';
import {
  type ClusterReport,
  callSupervisor,
  StateDirectory,
} from '../../packages/tidegate/src/supervisor/index.ts';
import { Kubectl } from './kubectl.ts';
import { PATIENCE_MS } from './patience.ts';
import { Tidegate } from './tidegate.ts';

/** `tidegate up` with its own state directory, as a user runs it. */
export class Cluster {
  readonly state: string;
  readonly up: Tidegate;
  readonly kubectl: Kubectl;

  readonly #command: readonly string[] | undefined;
  #client: Promise<KubeClient> | undefined;

  private constructor(state: string, up: Tidegate, command?: readonly string[]) {
    this.state = state;
    this.#command = command;
    this.up = up;
    this.kubectl = new Kubectl(join(state, 'kubeconfig'));
  }

  static async start(...options: string[]): Promise<Cluster> {
    return Cluster.open(await mkdtemp(join(tmpdir(), 'tidegate-')), ...options);
  }

  /** Uses an existing directory, possibly with a stopped cluster. */
  static async open(state: string, ...options: string[]): Promise<Cluster> {
    return Cluster.#open(state, undefined, options);
  }

  /** Uses a program that is installed elsewhere; `command` runs it. */
  static async startWith(command: readonly string[], ...options: string[]): Promise<Cluster> {
    return Cluster.#open(await mkdtemp(join(tmpdir(), 'tidegate-')), command, options);
  }

  static async #open(
    state: string,
    command: readonly string[] | undefined,
    options: readonly string[],
  ): Promise<Cluster> {
    const up = new Tidegate(['up', '--state', state, '--port', '0', ...options], command);
    const isReady = (): true | undefined => {
      if (!up.running) throw new Stop(`tidegate up exited: ${up.stdout}${up.stderr}`);
      return /^(Ready|Started) in/m.test(up.stdout) || undefined;
    };
    await eventually('tidegate up is ready', isReady);
    return new Cluster(state, up, command);
  }

  /** The output of another command for this cluster. */
  async tidegate(...args: string[]): Promise<string> {
    const [command = '', ...rest] = args;
    const run = new Tidegate([command, '--state', this.state, ...rest], this.#command);
    const { code } = await run.exited;
    if (code !== 0) throw new Error(`tidegate ${args.join(' ')}: exit ${code}: ${run.stdout}${run.stderr}`);
    return run.stdout;
  }

  /** For tests that ask often: a start of kubectl takes a tenth of a second of CPU time. */
  client(): Promise<KubeClient> {
    this.#client ??= loadConfig({ path: join(this.state, 'kubeconfig'), env: {} }).then(
      (config) => new KubeClient(config),
    );
    return this.#client;
  }

  /** What `tidegate status -o json` prints, without starting a process for it. */
  async report(): Promise<ClusterReport> {
    const answer = await callSupervisor(new StateDirectory(this.state), { command: 'status' });
    if (answer === undefined) throw new Error(`no cluster is running in ${this.state}`);
    return answer.result as ClusterReport;
  }

  /** The process id of a part of the cluster: `apiserver`, `controllers`, a node name, or `hub-` and a node name. */
  async pidOf(part: string): Promise<number> {
    const { processes } = await this.report();
    const pid = processes.find(({ name }) => name === part)?.pid;
    if (pid === undefined) throw new Error(`${part} has no process: ${JSON.stringify(processes)}`);
    return pid;
  }

  /** The process of a pod's first container. */
  async processOf(pod: Pod): Promise<number> {
    const record = await this.#recordOf(pod);
    const pid = Number(/"pid":(\d+)/.exec(record)?.[1]);
    if (Number.isNaN(pid)) throw new Error(`no process of ${pod.metadata.name}: ${record}`);
    return pid;
  }

  /** The address of a pod on its node, which the API does not know if the node has rebooted without a link. */
  async addressOf(pod: Pod): Promise<string | undefined> {
    return (JSON.parse(await this.#recordOf(pod)) as { podIP?: string }).podIP;
  }

  #recordOf({ metadata, spec }: Pod): Promise<string> {
    const pods = join(this.state, 'nodes', spec?.nodeName ?? '', 'pods');
    return readFile(join(pods, metadata.uid ?? '', 'pod.json'), 'utf8');
  }

  async stop(): Promise<void> {
    await (await this.#client)?.close();
    await this.up.kill('SIGTERM');
    await rm(this.state, { recursive: true, force: true });
  }
}

/** Ends the wait immediately, because the condition can no longer become true. */
export class Stop extends Error {}

/** Polls until `look` returns something other than undefined or false; the error after the timeout includes the last failure. */
export async function eventually<T>(
  what: string,
  look: () => Promise<T | undefined | false> | T | undefined | false,
  patienceMs = PATIENCE_MS,
): Promise<T> {
  const end = Date.now() + patienceMs;
  let last: unknown = 'nothing seen yet';
  while (Date.now() < end) {
    const started = Date.now();
    try {
      const answer = await look();
      if (answer !== undefined && answer !== false) return answer;
    } catch (error) {
      if (error instanceof Stop) throw error;
      last = error;
    }
    // A look may start a process. A pause that is three times as long leaves most of the time to the other tests.
    await sleep(Math.max(50, 3 * (Date.now() - started)));
  }
  throw new Error(`not within ${patienceMs} ms: ${what} (last: ${String(last)})`);
}
