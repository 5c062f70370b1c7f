import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { eventually } from '../../support/cluster.ts';
import { run, TestProcess } from '../../support/process.ts';
import { PROGRAM, repositoryFile } from '../../support/repository.ts';
import { type ControlPlane, SERVER_URL } from '../support/control-plane.ts';
import type { Namespace } from '../support/namespace.ts';
import { childrenOf, Program } from '../support/program.ts';
import type { Cgroups } from './cgroups.ts';
import { containerdConfig, kubeletConfig, type NodeFilesOptions, networkConfig } from './node-files.ts';

const SOCKET = '/run/containerd/containerd.sock';
export const HUB_ADDRESS = '169.254.2.1';
const URLS = { direct: SERVER_URL, hub: `https://${HUB_ADDRESS}:10268` };

export interface NodeOptions {
  name: string;
  address: string;
  podRange: string;
  labels: Record<string, string>;
  /** A network namespace that is connected already. */
  namespace: Namespace;
  cloud: ControlPlane;
  cgroups: Cgroups;
  /** The folder of scripts/node-programs.js. */
  programs: string;
  images: { archives: readonly string[]; aliases: Readonly<Record<string, string>>; pause: string };
}

/** kubelet and kube-proxy with the same kubeconfig. */
interface Agents {
  kubelet: Program;
  kubeProxy: Program;
}

/** A real node: containerd, kubelet, kube-proxy and a hub, as processes in namespaces of their own. */
export class Node {
  readonly options: NodeOptions;
  readonly directory: string;
  readonly containerd: Program;
  readonly hub: Program;
  readonly #files: NodeFilesOptions;
  readonly #direct: Agents;
  readonly #throughHub: Agents;
  /** The agents that run. */
  #agents: Agents;
  #init: TestProcess | undefined;
  /** The first process of the node, as the machine sees it. */
  #pid = 0;

  constructor(options: NodeOptions) {
    this.options = options;
    const { name, cloud, programs, podRange, cgroups, images } = options;
    this.directory = join(cloud.directory, name);
    this.#files = {
      directory: this.directory,
      programs,
      podRange,
      pauseImage: images.pause,
      cgroup: `/${cgroups.name}/${name}`,
      clientCa: cloud.credentials.caFile,
    };
    mkdirSync(this.directory, { recursive: true });
    this.containerd = this.#program('containerd', [
      join(programs, 'usr/bin/containerd'),
      ...['--config', this.#write('containerd.toml', containerdConfig(this.#files))],
    ]);
    const { credentials } = cloud;
    const identity = credentials.client(`system:node:${name}`, 'system:nodes');
    const direct = credentials.kubeconfig(name, SERVER_URL, identity);
    const agents = (way: 'direct' | 'hub'): Agents => ({
      kubelet: this.#program(
        'kubelet',
        this.#kubelet(credentials.kubeconfig(`${name}-kubelet-${way}`, URLS[way], identity)),
      ),
      kubeProxy: this.#program('kube-proxy', this.#kubeProxy(this.#writeProxyKubeconfig(way, ''))),
    });
    this.#direct = agents('direct');
    this.#throughHub = agents('hub');
    this.#agents = this.#direct;
    this.hub = this.#program('hub', [
      ...[process.execPath, PROGRAM, 'hub', '--node-name', name, '--hub-address', HUB_ADDRESS],
      ...['--kubeconfig', direct, '--state', join(this.directory, 'hub')],
    ]);
  }

  get name(): string {
    return this.options.name;
  }

  /** The root directory of the node, as the machine sees it. */
  get root(): string {
    return `/proc/${this.#pid}/root`;
  }

  /** Prefix for a command that runs on the node. The process is a parent of that of the command. */
  get wrapper(): string[] {
    const { programs } = this.options;
    const path = `${programs}/usr/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin`;
    return [
      ...['nsenter', '--target', String(this.#pid), '--net', '--mount', '--pid', '--uts', '--ipc'],
      ...['env', `PATH=${path}`],
    ];
  }

  get wrapperForks(): boolean {
    return true;
  }

  run(...command: string[]): Promise<string> {
    return run([...this.wrapper, ...command]);
  }

  get kubelet(): Program {
    return this.#agents.kubelet;
  }

  get kubeProxy(): Program {
    return this.#agents.kubeProxy;
  }

  /**
   * Starts the machine with everything on it but a hub. Resolves when the programs run; the node is Ready later. kube-proxy has
   * a token, because a hub can only forward the certificate of its node.
   */
  async start(kubeProxyToken: string): Promise<void> {
    this.#writeProxyKubeconfig('direct', kubeProxyToken);
    this.#writeProxyKubeconfig('hub', kubeProxyToken);
    await this.startRuntime();
    await this.startAgents();
  }

  /** containerd with all images. */
  async startRuntime(): Promise<void> {
    await this.#boot();
    await this.#startContainerd();
    await this.#importImages();
  }

  /** Starts a hub, and lets kubelet and kube-proxy use it, as the installation of a hub does. */
  async useHub(): Promise<void> {
    await this.startHub();
    await this.kubelet.stop();
    await this.kubeProxy.stop();
    this.#agents = this.#throughHub;
    await this.startAgents();
  }

  /** Lets kubelet and kube-proxy use the API server again, and stops the hub, as its removal does. */
  async leaveHub(): Promise<void> {
    await this.kubelet.stop();
    await this.kubeProxy.stop();
    this.#agents = this.#direct;
    await this.startAgents();
    await this.hub.stop();
  }

  startHub(): Promise<void> {
    return this.hub.start(() =>
      this.run('curl', '-sS', '--fail-with-body', 'http://127.0.0.1:10267/v1/readyz'),
    );
  }

  async startAgents(): Promise<void> {
    await this.kubelet.start(() => this.run('curl', '-sSf', 'http://127.0.0.1:10248/healthz'));
    await this.kubeProxy.start(() => this.run('curl', '-sSf', 'http://127.0.0.1:10256/healthz'));
  }

  ctr(...args: string[]): Promise<string> {
    return this.run('ctr', '--address', SOCKET, '--namespace', 'k8s.io', ...args);
  }

  /** As when the power fails: all processes end at once, with everything that is not on disk. */
  async powerOff(): Promise<void> {
    await this.#init?.kill('SIGKILL');
    for (const program of [this.containerd, this.kubelet, this.kubeProxy, this.hub]) await program.stop();
    await this.options.cgroups.remove(this.name);
    const { namespace } = this.options;
    for (const table of ['nat', 'filter', 'mangle']) {
      await namespace.run('iptables', '-t', table, '-F');
      await namespace.run('iptables', '-t', table, '-X');
    }
    // A machine that has lost its power knows no connections.
    await namespace.run('conntrack', '--flush');
    for (const link of ['cni0', 'tidegate0', 'kube-ipvs0'])
      await namespace.ip('link', 'delete', link).catch(() => undefined);
    await namespace.run('ip', 'address', 'flush', 'dev', 'lo', 'scope', 'link');
  }

  /** Starts again after `powerOff`. */
  async reboot(): Promise<void> {
    await this.#boot();
    await this.#startContainerd();
    if (this.#agents === this.#throughHub) await this.startHub();
    await this.startAgents();
  }

  /** Containers of a pod that run now, as containerd knows them. */
  async containers(uid: string): Promise<string[]> {
    const filter = `labels."io.kubernetes.pod.uid"==${uid},labels."io.cri-containerd.kind"==container`;
    const ids = (await this.ctr('containers', 'list', '--quiet', filter)).split('\n').filter(Boolean);
    const tasks = await this.ctr('tasks', 'list');
    return ids.filter((id) => new RegExp(`^${id} +\\d+ +RUNNING`, 'm').test(tasks));
  }

  async stop(): Promise<void> {
    await this.#init?.kill('SIGKILL');
  }

  async #boot(): Promise<void> {
    const { name, namespace, cgroups } = this.options;
    cgroups.add(name);
    mkdirSync(join(this.directory, 'network'), { recursive: true });
    this.#write('network/10-pods.conflist', networkConfig(this.#files));
    this.#write('resolv.conf', 'nameserver 10.96.0.10\n');
    const init = new TestProcess([
      ...['nsenter', `--net=/run/netns/${namespace.name}`],
      ...['unshare', '--mount', '--pid', '--uts', '--ipc', '--fork', '--kill-child', '--mount-proc'],
      ...['--propagation', 'private', repositoryFile('test/kube/cluster/node-init.sh'), name, this.directory],
    ]);
    this.#init = init;
    await init.until(({ stdout }) => stdout.includes('started'));
    this.#pid = childrenOf(init.pid)[0] ?? 0;
  }

  #startContainerd(): Promise<void> {
    return this.containerd.start(() => this.run('ctr', '--address', SOCKET, 'version'));
  }

  async #importImages(): Promise<void> {
    const { archives, aliases } = this.options.images;
    for (const archive of archives) await this.ctr('images', 'import', archive);
    for (const [alias, image] of Object.entries(aliases))
      await this.ctr('images', 'tag', '--force', image, alias);
  }

  #program(name: string, command: readonly string[]): Program {
    return new Program(this, this.directory, command, name);
  }

  #kubelet(kubeconfig: string): string[] {
    const { name, address, labels, cloud } = this.options;
    const options = {
      config: this.#write('kubelet.json', kubeletConfig(this.#files)),
      kubeconfig,
      'hostname-override': name,
      'node-ip': address,
      'node-labels': Object.entries(labels)
        .map(([key, value]) => `${key}=${value}`)
        .join(','),
      'container-runtime': 'remote',
      'container-runtime-endpoint': `unix://${SOCKET}`,
    };
    return [join(cloud.programs, 'kubelet'), ...flags(options)];
  }

  #kubeProxy(kubeconfig: string): string[] {
    const { name, cloud } = this.options;
    const options = {
      kubeconfig,
      'hostname-override': name,
      'proxy-mode': 'iptables',
      'cluster-cidr': '10.244.0.0/16',
      // These settings apply to the whole machine, so the test must not change them.
      'conntrack-max-per-core': '0',
      'conntrack-tcp-timeout-established': '0s',
      'conntrack-tcp-timeout-close-wait': '0s',
    };
    return [join(cloud.programs, 'kube-proxy'), ...flags(options)];
  }

  #writeProxyKubeconfig(way: 'direct' | 'hub', token: string): string {
    const { name, cloud } = this.options;
    return cloud.credentials.kubeconfig(`${name}-kube-proxy-${way}`, URLS[way], { token });
  }

  #write(name: string, text: string): string {
    const path = join(this.directory, name);
    writeFileSync(path, text);
    return path;
  }
}

const flags = (options: Record<string, string>): string[] =>
  Object.entries(options).map(([option, value]) => `--${option}=${value}`);

/** Waits until the API server shows all nodes as Ready. */
export async function untilReady(cloud: ControlPlane, nodes: readonly Node[]): Promise<void> {
  await eventually('all nodes are Ready', async () => {
    const ready = await cloud.kubectl.run(
      'get nodes -o jsonpath={range.items[*]}{.metadata.name}={.status.conditions[?(@.type=="Ready")].status},{end}',
    );
    const missing = nodes.filter(({ name }) => !ready.includes(`${name}=True,`));
    if (missing.length > 0)
      throw new Error(`not ready: ${missing.map(({ name }) => name).join(', ')}: ${ready}`);
    return true;
  });
}
