import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { parse } from 'yaml';
import { type Finished, finish, run } from '../../support/process.ts';
import { repositoryFile } from '../../support/repository.ts';
import { SERVER_URL } from '../support/control-plane.ts';
import type { Node } from './node.ts';
import { kubeletConfig } from './node-files.ts';

export const KUBELET_CONF = '/etc/kubernetes/kubelet.conf';
export const KUBE_PROXY_CONF = '/etc/kubernetes/kube-proxy.conf';
const SYSTEMCTL = repositoryFile('test/kube/cluster/systemctl.js');

/**
 * A node as its administrator sees it: files in the usual places, and kubelet and kube-proxy as services. A script
 * replaces systemd.
 */
export class Machine {
  readonly node: Node;

  constructor(node: Node) {
    this.node = node;
  }

  get name(): string {
    return this.node.name;
  }

  /** Starts the machine, with programs installed but no service that runs. The package is that of `npm pack`. */
  async start(packageFile: string): Promise<void> {
    await this.node.startRuntime();
    this.write('/usr/local/bin/systemctl', `#!/bin/sh\nexec ${process.execPath} ${SYSTEMCTL} "$@"\n`, 0o755);
    await this.node.run('npm', 'install', '--global', '--prefix', '/usr/local', packageFile);
    this.#writeKubelet();
  }

  /** Gives the kubelet and kube-proxy their credentials, as `kubeadm join` does, and starts them. */
  async join(kubeProxyToken: string): Promise<void> {
    const { credentials } = this.node.options.cloud;
    const identity = credentials.client(`system:node:${this.name}`, 'system:nodes');
    const kubelet = credentials.kubeconfig(`${this.name}-joined`, SERVER_URL, identity);
    this.write(KUBELET_CONF, `# Written when the node joined.\n${readFileSync(kubelet, 'utf8')}`, 0o600);
    const proxy = credentials.kubeconfig(`${this.name}-proxy`, SERVER_URL, { token: kubeProxyToken });
    this.write(KUBE_PROXY_CONF, readFileSync(proxy, 'utf8'), 0o600);
    await this.systemctl('start', 'kubelet.service', 'kube-proxy.service');
  }

  systemctl(...args: string[]): Promise<string> {
    return this.node.run('systemctl', ...args);
  }

  /** Runs `tidegate` as it is installed on the machine. */
  tidegate(...args: string[]): Promise<Finished> {
    return finish([...this.node.wrapper, '/usr/local/bin/tidegate', ...args]);
  }

  /** Lets kubelet and kube-proxy use a hub, as the installation guide does. */
  async installHub(): Promise<void> {
    const { code, output } = await this.tidegate('hub', 'install', '--take-over', KUBE_PROXY_CONF);
    if (code !== 0) throw new Error(`tidegate hub install on ${this.name}: exited with ${code}: ${output}`);
    await this.systemctl('restart', 'kube-proxy.service');
  }

  read(path: string): string {
    return readFileSync(join(this.node.root, path), 'utf8');
  }

  write(path: string, text: string, mode = 0o644): void {
    const file = join(this.node.root, path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text, { mode });
  }

  /** The API server that a kubeconfig file names. */
  serverIn(path: string): string {
    return parse(this.read(path)).clusters[0].cluster.server;
  }

  log(unit: string): string {
    return this.read(`/var/log/${unit}.log`).split('\n').slice(-30).join('\n');
  }

  #writeKubelet(): void {
    const { name, options, directory } = { ...this.node, name: this.name, directory: this.node.directory };
    const { cloud, programs, podRange, cgroups, images, address, labels } = options;
    const files = {
      ...{ directory, programs, podRange, pauseImage: images.pause },
      ...{ cgroup: `/${cgroups.name}/${name}`, clientCa: cloud.credentials.caFile },
    };
    const config = { ...JSON.parse(kubeletConfig(files)), staticPodPath: '/etc/kubernetes/manifests' };
    this.write('/var/lib/kubelet/config.yaml', JSON.stringify(config));
    mkdirSync(join(this.node.root, '/etc/kubernetes/manifests'), { recursive: true });
    const kubelet = [
      join(cloud.programs, 'kubelet'),
      ...['--config=/var/lib/kubelet/config.yaml', `--kubeconfig=${KUBELET_CONF}`],
      '--bootstrap-kubeconfig=/etc/kubernetes/bootstrap-kubelet.conf',
      ...[
        '--container-runtime=remote',
        '--container-runtime-endpoint=unix:///run/containerd/containerd.sock',
      ],
      ...[`--hostname-override=${name}`, `--node-ip=${address}`, `--node-labels=location=${labels.location}`],
    ];
    const proxy = [
      join(cloud.programs, 'kube-proxy'),
      ...[`--kubeconfig=${KUBE_PROXY_CONF}`, `--hostname-override=${name}`, '--proxy-mode=iptables'],
      ...['--cluster-cidr=10.244.0.0/16', '--conntrack-max-per-core=0'],
      ...['--conntrack-tcp-timeout-established=0s', '--conntrack-tcp-timeout-close-wait=0s'],
    ];
    const unit = (command: string[]): string =>
      `[Unit]\nDescription=test\n[Service]\nExecStart=${command.join(' ')}\nRestart=always\n`;
    this.write('/etc/systemd/system/kubelet.service', unit(kubelet));
    this.write('/etc/systemd/system/kube-proxy.service', unit(proxy));
  }
}

/** Packs the program as the installation guide does. */
export async function packProgram(folder: string): Promise<string> {
  const cwd = repositoryFile('.');
  const output = await run(
    ['npm', 'pack', '--workspace', 'packages/tidegate', '--pack-destination', folder, '--json'],
    { cwd },
  );
  const [packed] = JSON.parse(output.slice(output.indexOf('[\n'))) as { filename: string }[];
  return join(folder, packed?.filename ?? '');
}
