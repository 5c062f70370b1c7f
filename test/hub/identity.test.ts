/**
 * Authentication, authorization and certificates with the embedded API server: its tokens, its RBAC, its
 * signers.
 */
import { X509Certificate } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DurableMap } from '@tidegate/disk';
import {
  CERTIFICATE_SIGNING_REQUESTS,
  type ClusterConfig,
  type CredentialSource,
  EventRecorder,
  fixedCredential,
  Informers,
  KubeClient,
  type KubeObject,
  loadConfig,
  Metrics,
  NODES,
  type Resource,
  SERVICE_ACCOUNTS,
  SERVICES,
  silentLogger,
  systemClock,
} from '@tidegate/kube';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  NODE_ADDRESSES_ANNOTATION,
  NODE_POOL_LABEL,
  NODE_POOLS,
  type NodePool,
} from '../../packages/tidegate/src/api/index.ts';
import { approvalController } from '../../packages/tidegate/src/approval/index.ts';
import { Access } from '../../packages/tidegate/src/hub/access/access.ts';
import type { ResourceAttributes } from '../../packages/tidegate/src/hub/access/decisions.ts';
import { ClientCredentials } from '../../packages/tidegate/src/hub/certificates/client-credentials.ts';
import { openServingCertificate } from '../../packages/tidegate/src/hub/certificates/serving-certificate.ts';
import { Authenticator } from '../../packages/tidegate/src/hub/identity/authenticator.ts';
import type { BearerIdentity, Identity } from '../../packages/tidegate/src/hub/identity/identity.ts';
import { installDefinitions } from '../../packages/tidegate/src/manager/install.ts';
import { followMembership } from '../../packages/tidegate/src/pools/index.ts';
import { type Embedded, startEmbedded } from '../support/embedded.ts';
import { Kubectl } from '../support/kubectl.ts';
import { eventually } from '../support/patience.ts';

const EVENTS: Resource = { group: '', version: 'v1', resource: 'events', namespaced: true };
const log = silentLogger;
const clock = systemClock;
const random = Math.random;
const stop = new AbortController();

let directory: string;
let server: Embedded;
let config: ClusterConfig;
let admin: KubeClient;
let node: KubeClient;
let kubectl: Kubectl;
const ends: Promise<void>[] = [];

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'tidegate-hub-'));
  server = await startEmbedded();
  config = await loadConfig({ path: server.kubeconfig, env: {} });
  admin = new KubeClient(config);
  kubectl = new Kubectl(server.kubeconfig);
  await kubectl.run('create namespace shop');
  await kubectl.run('create serviceaccount web -n shop');
  await kubectl.run('create serviceaccount bootstrap -n kube-system');
  const bootstrap = '--serviceaccount=kube-system:bootstrap';
  await kubectl.run(`create clusterrolebinding b1 --clusterrole=system:node-bootstrapper ${bootstrap}`);
  const approved = 'system:certificates.k8s.io:certificatesigningrequests:nodeclient';
  await kubectl.run(`create clusterrolebinding b2 --clusterrole=${approved} ${bootstrap}`);
  node = connect(await nodeCredentials());
});
afterAll(async () => {
  stop.abort();
  await Promise.all(ends);
  await Promise.all([admin.close(), node.close()]);
  await server.stop();
  await rm(directory, { recursive: true });
});

const connect = (credentials: CredentialSource): KubeClient => new KubeClient({ ...config, credentials });
const withToken = (token: string): CredentialSource => fixedCredential({ authorization: `Bearer ${token}` });

async function nodeCredentials(): Promise<ClientCredentials> {
  const bootstrap = { ...config, credentials: withToken(await newToken('kube-system', 'bootstrap')) };
  const file = join(directory, 'client.pem');
  const options = { nodeName: 'n1', bootstrap, file, connect, clock, random, log };
  const credentials = await ClientCredentials.open(options);
  ends.push(credentials.run(stop.signal));
  return credentials;
}

async function newToken(namespace: string, name: string, audiences?: string[]): Promise<string> {
  const request = {
    apiVersion: 'authentication.k8s.io/v1',
    kind: 'TokenRequest',
    metadata: { name, namespace },
    spec: { audiences },
  };
  const { status } = await admin.create<KubeObject>(SERVICE_ACCOUNTS, request, { subresource: 'token' });
  return (status as { token: string }).token;
}

describe('a node without credentials', () => {
  const SELF: Resource = {
    group: 'authentication.k8s.io',
    version: 'v1',
    resource: 'selfsubjectreviews',
    namespaced: false,
  };

  it('gets its own with a bootstrap token', async () => {
    const { status } = await node.create<KubeObject>(SELF, {
      apiVersion: 'authentication.k8s.io/v1',
      kind: 'SelfSubjectReview',
      metadata: {},
    });
    expect(status).toMatchObject({
      userInfo: { username: 'system:node:n1', groups: expect.arrayContaining(['system:nodes']) },
    });
  });

  it('has them after a restart, without a request', async () => {
    const again = await ClientCredentials.open({
      nodeName: 'n1',
      bootstrap: config,
      file: join(directory, 'client.pem'),
      connect: () => {
        throw new Error('no request is expected');
      },
      clock,
      random,
      log,
    });
    expect(again.waitingFor).toBeUndefined();
    expect((await again.current()).cert).toContain('BEGIN CERTIFICATE');
  });

  it('does not send its bootstrap token to a server that it cannot verify', async () => {
    const { ca: _, ...unpinned } = config;
    for (const bootstrap of [unpinned, { ...config, insecureSkipTlsVerify: true }])
      await expect(
        ClientCredentials.open({
          nodeName: 'n1',
          bootstrap,
          file: join(directory, 'x'),
          connect,
          clock,
          random,
          log,
        }),
      ).rejects.toThrow(/^the bootstrap kubeconfig cannot verify https:/);
  });
});

describe('the serving certificate of a hub', () => {
  const options = (addresses: string[]) => ({
    client: node,
    nodeName: 'n1',
    addresses,
    file: join(directory, 'serving.pem'),
    clock,
    random,
    log,
  });

  it('is signed for names of hubs, and for addresses only if the pool of the node has them', async () => {
    await installDefinitions(admin, clock, stop.signal);
    const metrics = new Metrics();
    const informers = new Informers(admin);
    const { membership, synced } = followMembership(informers);
    const recorder = new EventRecorder(admin, { component: 'test' });
    const hubAddresses = ['169.254.2.1'];
    const controller = approvalController({
      client: admin,
      informers,
      recorder,
      metrics,
      log,
      clock,
      hubAddresses,
      membership,
      nodeAddresses: '',
      patienceMs: 0,
    });
    const ended = new AbortController();
    const running = [informers.run(ended.signal), synced.then(() => controller.run(ended.signal))];

    const certificate = await openServingCertificate(options(['169.254.2.1', '127.0.0.1']));
    running.push(certificate.run(ended.signal));
    const { certificate: pem } = await eventually(async () => certificate.current);
    const { clusterIP = '' } =
      (await admin.get(SERVICES, { namespace: 'default', name: 'kubernetes' })).spec ?? {};
    const x509 = new X509Certificate(pem);
    expect(x509.verify(new X509Certificate(config.ca!).publicKey)).toBe(true);
    for (const address of ['169.254.2.1', '127.0.0.1', clusterIP])
      expect(x509.checkIP(address)).toBe(address);
    for (const name of ['localhost', 'kubernetes', 'kubernetes.default.svc.cluster.local'])
      expect(x509.checkHost(name)).toBe(name);

    const greedy = await openServingCertificate({
      ...options(['192.0.2.77']),
      file: join(directory, 'greedy.pem'),
    });
    running.push(greedy.run(ended.signal));
    const undecided = await eventually(async () => {
      const { items } = await admin.list(CERTIFICATE_SIGNING_REQUESTS);
      return items.find(
        ({ spec, status }) => spec.signerName.endsWith('/kubelet-serving') && !status?.certificate,
      );
    });
    const reported = (text: string): Promise<unknown> =>
      eventually(async () => {
        const { items } = await admin.list<KubeObject>(EVENTS, {
          namespace: 'default',
          fieldSelector: `involvedObject.name=${undecided.metadata.name}`,
        });
        return items.some(({ message }) => String(message).includes(text));
      });
    const nodeWith = (name: string, address: string): KubeObject => ({
      apiVersion: 'v1',
      kind: 'Node',
      metadata: { name },
      status: { addresses: [{ type: 'InternalIP', address }] },
    });
    const setRange = (range: string): Promise<unknown> =>
      admin.patch(NODE_POOLS, { name: 'paris' }, 'merge', {
        metadata: { annotations: { [NODE_ADDRESSES_ANNOTATION]: range } },
      });
    await admin.create<NodePool>(NODE_POOLS, {
      apiVersion: 'apps.openyurt.io/v1beta2',
      kind: 'NodePool',
      metadata: { name: 'paris', annotations: { [NODE_ADDRESSES_ANNOTATION]: '198.51.100.0/24' } },
      spec: { type: 'Edge' },
    });
    // The node reports the address, and a host name, in its own status: that proves nothing.
    await node.create<KubeObject>(NODES, nodeWith('n1', '192.0.2.1'));
    await kubectl.run(`label node n1 ${NODE_POOL_LABEL}=paris`);
    const addresses = [
      { type: 'InternalIP', address: '192.0.2.77' },
      { type: 'Hostname', address: 'bank.example' },
    ];
    await node.patch(NODES, { name: 'n1', subresource: 'status' }, 'merge', { status: { addresses } });
    await reported('"192.0.2.77" (not in the annotation pools.tidegate.io/node-addresses of NodePool paris)');
    expect(greedy.waitingFor).toMatch(/not approved yet/);
    // An address that another node reports is refused, even if it is in the range of the pool.
    await admin.create<KubeObject>(NODES, nodeWith('n2', '192.0.2.77'));
    await setRange('192.0.2.0/24');
    await reported('"192.0.2.77" (node n2 reports this address)');
    expect(greedy.waitingFor).toMatch(/not approved yet/);
    // The controller checks the request again when the address is free.
    await admin.delete(NODES, { name: 'n2' });
    await eventually(async () => greedy.current);

    ended.abort();
    await Promise.all(running);
    await recorder.close();
  });

  it('is available after an offline restart', async () => {
    const away = new KubeClient({ ...config, server: 'https://127.0.0.1:1' }, { maxRetries: 0 });
    const certificate = await openServingCertificate({ ...options(['169.254.2.1']), client: away });
    expect(certificate.waitingFor).toBeUndefined();
    expect(certificate.current?.certificate).toContain('BEGIN CERTIFICATE');
    await away.close();
  });
});

describe('the token of a pod', () => {
  let memory: DurableMap;
  let authenticator: Authenticator;
  let access: Access;
  let bare: KubeClient;
  let online = true;
  const ended = new AbortController();
  let running: Promise<void> = Promise.resolve();
  const lastContact = Date.now();

  beforeAll(async () => {
    memory = await DurableMap.open(join(directory, 'identity'));
    bare = connect(fixedCredential({}));
    authenticator = await Authenticator.open({
      peerOf: async () => 'local',
      nodeName: 'n1',
      client: node,
      memory,
      online: () => online,
      lastContact: () => lastContact,
      onEnded: () => {},
      podIsGone: async () => false,
      clock,
      log,
    });
    access = await Access.open({
      client: bare,
      memory,
      tokens: authenticator,
      online: () => online,
      clock,
      log,
    });
  });
  afterAll(async () => {
    ended.abort();
    await running;
    await bare.close();
    await memory.close();
  });

  const by = (token: string): Promise<Identity> => {
    const request = new IncomingMessage(new Socket());
    request.headers.authorization = `Bearer ${token}`;
    return authenticator.authenticate(request, {});
  };
  const uid = async (): Promise<string> =>
    (await admin.get(SERVICE_ACCOUNTS, { namespace: 'shop', name: 'web' })).metadata.uid ?? '';
  const list: ResourceAttributes = {
    verb: 'list',
    group: '',
    version: 'v1',
    resource: 'services',
    namespace: '',
    name: '',
  };
  const mayList = async (identity: Identity, attributes = list): Promise<void> =>
    access.check(identity as BearerIdentity, attributes, stop.signal);

  it('is opaque while the node may not read the signing keys, and then identifies the account', async () => {
    const token = await newToken('shop', 'web');
    expect((await by(token)).key).toMatch(/^token:/);
    await kubectl.run(
      'create clusterrolebinding keys --clusterrole=system:service-account-issuer-discovery --group=system:nodes',
    );
    running = authenticator.run(ended.signal);
    await eventually(async () => (await by(token)).key === `sa:shop:web:${await uid()}`);
    online = false;
    expect((await by(await newToken('shop', 'web'))).key).toBe(`sa:shop:web:${await uid()}`);
    await expect(by(await newToken('shop', 'web', ['vault']))).rejects.toMatchObject({
      status: { code: 401 },
    });
    online = true;
  });

  it('is authorized by RBAC, and denied with the message of the API server', async () => {
    const token = await newToken('shop', 'web');
    const identity = await by(token);
    const direct = connect(withToken(token));
    const inShop = { ...list, namespace: 'shop' };
    for (const attributes of [list, inShop]) {
      const said = await direct
        .list(SERVICES, { namespace: attributes.namespace })
        .catch((error: Error) => error.message);
      await expect(mayList(identity, attributes)).rejects.toThrow(said as string);
    }
    await direct.close();
    await kubectl.run('create role read -n shop --verb=list --resource=services');
    await kubectl.run('create rolebinding read -n shop --role=read --serviceaccount=shop:web');
    await mayList(identity, inShop);
    online = false;
    await mayList(identity, inShop);
    await expect(mayList(identity)).rejects.toMatchObject({ status: { code: 403 } });
    await expect(mayList(identity, { ...list, verb: 'watch' })).rejects.toMatchObject({
      status: { code: 503 },
    });
    online = true;
  });

  it('is rejected after the account is deleted', async () => {
    const token = await newToken('shop', 'web');
    const identity = await by(token);
    await kubectl.run('delete serviceaccount web -n shop');
    const watch = { ...list, namespace: 'shop', verb: 'watch' as const };
    await expect(mayList(identity, watch)).rejects.toMatchObject({ status: { code: 401 } });
    online = false;
    await expect(by(token)).rejects.toMatchObject({ status: { code: 401 } });
    online = true;
  });
});
