/** `npm run cluster`: a real cluster to try things in. It runs until Ctrl-C, and leaves nothing behind. */
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { startGuard } from '../../guard/setup.ts';
import { findKubectl } from '../../support/kubectl.ts';
import { PROGRAM } from '../../support/repository.ts';
import { CLOUD, RealCluster, type Sites } from './cluster.ts';
import { installTidegate } from './install.ts';
import { Machine, packProgram } from './machine.ts';
import { untilReady } from './node.ts';

const { values } = parseArgs({
  options: {
    site: { type: 'string', multiple: true, default: ['hangzhou=2', 'beijing=1'] },
    image: { type: 'string', multiple: true, default: [] },
    install: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});
if (values.help) {
  console.log(`usage: npm run cluster -- [--site NAME=NODES]... [--image NAME]... [--install]

Runs a real Kubernetes on this machine: a control plane, one node in the cloud and nodes at sites whose links can be cut, each in
namespaces of its own. Nodes have the label location with the name of their site. All images of --image are the same program: it
answers HTTP requests on port 8080.

The nodes of sites are like machines that have joined with kubeadm: files in the usual places, kubelet and kube-proxy as services
(a script replaces systemctl), and the package of Tidegate. Without --install, nothing else is installed, and the image is on all
nodes: follow docs/guides/install.md from "Install the manager" on, with --set image=tidegate:VERSION. With --install, the command
runs tidegate install, and tidegate hub install on the nodes of the sites.

Examples:
  npm run cluster                                          # an empty cluster: cloud-1, hangzhou-1, hangzhou-2, beijing-1
  npm run cluster -- --install --site shop=1
  npm run test:kube -- test/kube/cluster.test.ts           # a cluster, tidegate install, and the story, as a test`);
  process.exit(0);
}

const sites: Record<string, string[]> = { [CLOUD]: ['cloud-1'] };
for (const each of values.site) {
  const [, name = '', nodes = ''] = /^([a-z][a-z0-9]{0,9})=([1-9])$/.exec(each) ?? [];
  if (name === '' || name === CLOUD) {
    console.error(
      `npm run cluster: --site ${each}: write a name and a number of nodes, for example hangzhou=2`,
    );
    process.exit(2);
  }
  sites[name] = Array.from({ length: Number(nodes) }, (_, i) => `${name}-${i + 1}`);
}

const endGuard = startGuard();
/** Seconds since the command started. The first start on a machine downloads and builds for minutes. */
const elapsed = (): string => `${Math.round(performance.now() / 1000)} s`;
const step = (text: string): void => console.error(`${elapsed().padStart(6)}  ${text}`);

step('building the images, and the network');
const cluster = await RealCluster.create(sites as Sites, [...values.image, 'docker.io/library/nginx:latest']);
const interrupted = Promise.race([once(process, 'SIGINT'), once(process, 'SIGTERM')]);
try {
  await Promise.race([start(), interrupted]);
  await interrupted;
} catch (error) {
  console.error(error);
  process.exitCode = 1;
} finally {
  console.log('Stopping ...');
  await cluster.stop();
  await endGuard?.();
}

async function start(): Promise<void> {
  const { cloud, edge } = cluster;
  step('starting the control plane and the node in the cloud');
  await cluster.startCloud();
  // Before there are other nodes, so that the manager runs in the cloud.
  if (values.install) {
    step('tidegate install');
    await installTidegate(cluster);
  }
  step('starting the nodes of the sites');
  const machines = edge.map((node) => new Machine(node));
  const [packed, proxyToken] = [
    await packProgram(cloud.directory),
    await cloud.token('kube-system', 'kube-proxy'),
  ];
  await Promise.all(machines.map((machine) => machine.start(packed)));
  await Promise.all(machines.map((machine) => machine.join(proxyToken)));
  await untilReady(cloud, edge);
  if (values.install) {
    step('tidegate hub install');
    await Promise.all(machines.map((machine) => machine.installHub()));
  }
  console.log(`Ready after ${elapsed()}.\n\n${commands()}\n
Logs are in ${cloud.directory}. Ctrl-C stops the cluster and removes everything.`);
}

/** What a user can do with the cluster. Two scripts run commands in the network of the control plane, and on a node. */
function commands(): string {
  const { namespace, adminKubeconfig, directory } = cluster.cloud;
  const script = (name: string, text: string): string => {
    const path = join(directory, name);
    writeFileSync(path, `#!/bin/sh\n${text}\n`, { mode: 0o755 });
    return path;
  };
  const inCloud = script(
    'in-cloud',
    `export KUBECONFIG=${adminKubeconfig}\nexec ${namespace.wrapper.join(' ')} "$@"`,
  );
  const cases = cluster.nodes.map(({ name, wrapper }) => `${name}) exec ${wrapper.join(' ')} "$@" ;;`);
  const onNode = script('on-node', `node=$1; shift\ncase $node in\n${cases.join('\n')}\nesac\nexit 2`);
  const [first] = cluster.edge;
  return [
    'Commands in the network of the control plane, with the kubeconfig of its administrator:',
    `  ${inCloud} ${findKubectl()} get nodes -o wide`,
    `  ${inCloud} ${process.execPath} ${PROGRAM} check${values.install ? '' : ' --pre'}`,
    'Commands on a node:',
    `  ${onNode} ${first?.name} tidegate hub ${values.install ? 'uninstall' : 'install'} --help`,
    'Links of the sites; "up" mends a link:',
    ...Object.keys(sites)
      .filter((site) => site !== CLOUD)
      .map((site) => `  ${cluster.linkCommand(site, 'down')}`),
  ].join('\n');
}
