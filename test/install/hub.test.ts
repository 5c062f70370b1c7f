/** `tidegate hub install` and `uninstall` in a temporary root directory, with a real hub and the embedded API server. */
import { mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { NODES } from '@tidegate/kube';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { hubCommand } from '../../packages/tidegate/src/cli/hub.ts';
import { nodeCredentials } from '../../packages/tidegate/src/supervisor/credentials.ts';
import { installRbac } from '../../packages/tidegate/src/supervisor/install.ts';
import { ServingApprover } from '../../packages/tidegate/src/supervisor/serving-approver.ts';
import { type EmbeddedWithKinds, startEmbeddedWithKinds } from '../support/embedded.ts';
import { eventually } from '../support/patience.ts';
import { reservePort } from '../support/ports.ts';
import { type Finished, finish } from '../support/process.ts';
import { PROGRAM, repositoryFile } from '../support/repository.ts';
import { Tidegate } from '../support/tidegate.ts';

const NODE = 'shop-1';
const HUB = 'https://127.0.0.1:10268';

let server: EmbeddedWithKinds;
let root: string;
/** The kubeconfig of the node, as kubeadm would write it. */
let kubeconfig: string;
const stop = new AbortController();

beforeAll(async () => {
  server = await startEmbeddedWithKinds();
  await installRbac(server.client, repositoryFile('deploy/base/hub.yaml'), stop.signal);
  await server.client.create(NODES, { apiVersion: 'v1', kind: 'Node', metadata: { name: NODE } });
  const directory = await mkdtemp(join(tmpdir(), 'tidegate-node-'));
  const { hub } = await nodeCredentials({
    client: server.client,
    node: NODE,
    directory,
    server: server.url,
    hub: HUB,
    proxyTokenFile: join(directory, 'token'),
    signal: stop.signal,
  });
  kubeconfig = readFileSync(hub, 'utf8');
  await rm(directory, { recursive: true });
});
afterAll(async () => {
  stop.abort();
  await server.stop();
});
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'tidegate-root-'));
  mkdirSync(join(root, 'etc/kubernetes'), { recursive: true });
});
afterEach(() => rm(root, { recursive: true, force: true }));

const path = (name: string): string => join(root, name);
const read = (name: string): string => readFileSync(path(name), 'utf8');
const serverIn = (name: string): string => parse(read(name)).clusters[0].cluster.server;
const hub = (...args: string[]): Promise<Finished> =>
  finish([process.execPath, PROGRAM, 'hub', ...args, '--root', root, '--no-systemctl']);

describe('tidegate hub install', () => {
  it('starts the hub first, and then points the kubelet to it', async () => {
    writeFileSync(path('etc/kubernetes/kubelet.conf'), `# By kubeadm.\n${kubeconfig}`, { mode: 0o600 });
    const adminPort = await reservePort();
    const install = ['install', '--node-name', NODE, '--admin-url', `http://127.0.0.1:${adminPort}`];
    // systemd would start the hub. Until it answers, the kubelet is not touched.
    const early = await hub(...install, '--timeout', '1s');
    expect(early.code).toBe(1);
    expect(early.stderr).toContain('the hub is not ready after 1 s');
    expect(early.stderr).toContain('The kubelet still uses the API server');
    expect(serverIn('etc/kubernetes/kubelet.conf')).toBe(server.url);
    expect(serverIn('etc/kubernetes/hub.conf')).toBe(server.url);
    expect(statSync(path('etc/kubernetes/hub.conf')).mode & 0o777).toBe(0o600);
    expect(read('etc/default/tidegate-hub')).toContain(`NODE_NAME=${NODE}`);
    expect(read('etc/systemd/system/tidegate-hub.service')).toContain('ExecStart=');

    const approver = new ServingApprover(server.client, [{ name: NODE, address: '127.0.0.1' }], () => {});
    await approver.run();
    const running = new Tidegate([
      'hub',
      ...['--node-name', NODE, '--kubeconfig', path('etc/kubernetes/hub.conf'), '--state', path('state')],
      ...['--http-port', '0', '--https-port', '0', '--admin-port', String(adminPort)],
      ...['--hub-address', '127.0.0.1'],
    ]);
    try {
      const { code, stderr } = await hub(...install, '--timeout', '5m');
      expect({ code, stderr }).toMatchObject({ code: 0 });
      expect(stderr).toContain('not run: systemctl restart kubelet.service');
      expect(serverIn('etc/kubernetes/kubelet.conf')).toBe(HUB);
      expect(read('etc/kubernetes/kubelet.conf')).toContain('# By kubeadm.');
      // The hub reports its version.
      await eventually(async () => {
        const { metadata } = await server.client.get(NODES, { name: NODE });
        return metadata.annotations?.['hub.tidegate.io/version'] !== undefined;
      });
      // A second run finds the API server in its record.
      expect(await hub(...install)).toMatchObject({ code: 0 });
      expect(serverIn('etc/kubernetes/hub.conf')).toBe(server.url);
    } finally {
      await running.kill('SIGTERM');
      await approver.close();
    }

    // The kubelet has renewed its certificate meanwhile.
    const renewed = read('etc/kubernetes/kubelet.conf').replace('# By kubeadm.', '# Renewed.');
    writeFileSync(path('etc/kubernetes/kubelet.conf'), renewed);
    const { code, stderr } = await hub('uninstall');
    expect({ code, stderr }).toMatchObject({ code: 0 });
    expect(serverIn('etc/kubernetes/kubelet.conf')).toBe(server.url);
    expect(read('etc/kubernetes/kubelet.conf')).toContain('# Renewed.');
    expect(() => read('etc/kubernetes/hub.conf')).toThrow('ENOENT');
    expect(() => read('etc/systemd/system/tidegate-hub.service')).toThrow('ENOENT');
    const { metadata } = await server.client.get(NODES, { name: NODE });
    expect(metadata.annotations?.['hub.tidegate.io/version']).toBeUndefined();
  });

  it('refuses to become its own API server', async () => {
    writeFileSync(path('etc/kubernetes/kubelet.conf'), kubeconfig.replace(server.url, HUB));
    const { code, stderr } = await hub('install', '--node-name', NODE, '--timeout', '1s');
    expect(code).toBe(1);
    expect(stderr).toContain('the hub would be its own API server');
    expect(() => read('etc/kubernetes/hub.conf')).toThrow('ENOENT');
  });

  it('writes a static pod', async () => {
    writeFileSync(path('etc/kubernetes/kubelet.conf'), kubeconfig);
    await hub('install', '--node-name', NODE, '--as', 'static-pod', '--image', 'a/b:1', '--timeout', '1s');
    const pod = parse(read('etc/kubernetes/manifests/tidegate-hub.yaml'));
    const [container] = pod.spec.containers;
    expect(container.image).toBe('a/b:1');
    const known = hubCommand().options.map(({ long }) => long);
    for (const argument of container.args.filter((each: string) => each.startsWith('--')))
      expect(known).toContain(argument);
    expect(() => read('etc/systemd/system/tidegate-hub.service')).toThrow('ENOENT');
    // A hub refuses a state directory that others can enter.
    expect(statSync(path('var/lib/tidegate/hub')).mode & 0o777).toBe(0o700);
  });

  it('joins a new node with a token, which goes to a verified server only', async () => {
    const token = ['install', '--node-name', 'shop-9', '--node-token', 'abcdef.0123456789abcdef'];
    const unknown = await hub(...token, '--server', server.url);
    expect(unknown.stderr).toContain('--node-token needs --server and --ca-file');
    const ca = path('ca.crt');
    writeFileSync(ca, server.client.config.ca ?? '');
    await hub(...token, '--server', server.url, '--ca-file', ca, '--timeout', '1s');
    expect(serverIn('etc/kubernetes/hub-bootstrap.conf')).toBe(server.url);
    expect(read('etc/default/tidegate-hub')).toContain('--bootstrap-kubeconfig');
    expect(() => read('etc/kubernetes/bootstrap-kubelet.conf')).toThrow('ENOENT');
    const withdrawn = await hub('uninstall');
    expect(withdrawn.code).toBe(0);
    expect(() => read('etc/kubernetes/hub-bootstrap.conf')).toThrow('ENOENT');
  });

  it('says what is missing on a node that has not joined', async () => {
    const { code, stderr } = await hub('install', '--node-name', NODE);
    expect(code).toBe(1);
    expect(stderr).toContain('this node has not joined a cluster');
  });
});

it('a hub whose API server is the hub itself does not start', async () => {
  const file = path('hub.conf');
  writeFileSync(file, kubeconfig.replace(server.url, HUB));
  const { code, stderr } = await finish([
    process.execPath,
    PROGRAM,
    ...['hub', '--node-name', NODE, '--kubeconfig', file, '--state', path('state')],
  ]);
  expect(code).toBe(1);
  expect(stderr).toContain(`${HUB} is this hub itself, not an API server`);
});
