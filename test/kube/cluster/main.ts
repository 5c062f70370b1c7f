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
answers HTTP requests on port 8080. --install installs Tidegate from deploy/, and hubs on the nodes of the sites. Without it, the
image of Tidegate is on all nodes, and nothing is installed.`);
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
const started = performance.now();
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
  await cluster.startCloud();
  // Before there are other nodes, so that the manager runs in the cloud.
  if (values.install) await installTidegate(cluster);
  await cluster.startSites();
  if (values.install) await Promise.all(cluster.edge.map((node) => node.useHub()));
  const { namespace, adminKubeconfig, directory } = cluster.cloud;
  // A command in the network of the control plane, with its kubeconfig.
  const enter = join(directory, 'in-cloud');
  const script = `#!/bin/sh\nexport KUBECONFIG=${adminKubeconfig}\nexec ${namespace.wrapper.join(' ')} "$@"\n`;
  writeFileSync(enter, script, { mode: 0o755 });
  const lans = Object.keys(sites).filter((name) => name !== CLOUD);
  console.log(`Ready in ${Math.round((performance.now() - started) / 1000)} s: ${cluster.nodes.map(({ name }) => name).join(', ')}

  ${enter} ${findKubectl()} get nodes -o wide
  ${enter} ${process.execPath} ${PROGRAM} --help
${lans.map((site) => `  ${cluster.linkCommand(site, 'down')}      # cuts the link of ${site}; "up" mends it`).join('\n')}

Logs are in ${directory}. Ctrl-C stops the cluster and removes everything.`);
}
