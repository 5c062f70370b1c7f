/** Logs and streams through the API server, with kubectl on one side and a small kubelet on the other. */
import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer, request as httpsRequest, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { KubeClient, loadConfig, NODES, PODS } from '@tidegate/kube';
import { newSigningRequest, requestCertificate } from '@tidegate/kube/certificates';
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest';
import { type Embedded, startEmbedded } from '../support/embedded.ts';
import { Kubectl } from '../support/kubectl.ts';
import { PATIENCE_MS } from '../support/patience.ts';

type Answer = (request: IncomingMessage, response: ServerResponse) => void;

const NOT_HERE = 'exec is not supported here: the pods of the embedded cluster are processes of this machine';

let embedded: Embedded;
let client: KubeClient;
let kubectl: Kubectl;
let kubelet: Server;
/** The requests that the kubelet received, and its next response. */
const asked: string[] = [];
let answer: Answer = (_request, response) => response.end();

beforeAll(async () => {
  embedded = await startEmbedded();
  client = new KubeClient(await loadConfig({ env: {}, path: embedded.kubeconfig }));
  kubectl = new Kubectl(embedded.kubeconfig);
  kubelet = await startKubelet('127.0.0.1');
  await makeNode('n1', '127.0.0.1', (kubelet.address() as AddressInfo).port);
  await makePod('web', 'n1', ['nginx']);
  await makePod('two', 'n1', ['a', 'b']);
  await makePod('waiting', undefined, ['nginx']);
});
afterAll(async () => {
  kubelet.closeAllConnections();
  kubelet.close();
  await client.close();
  await embedded.stop();
});
afterEach(() => {
  asked.length = 0;
});

/** Serves a certificate for `address` and requires one from clients, as a kubelet does. */
async function startKubelet(address: string): Promise<Server> {
  const identity = { commonName: 'system:node:n1', organizations: ['system:nodes'] };
  const { key, request } = newSigningRequest({ ...identity, ipAddresses: [address] });
  const cert = await requestCertificate(client, {
    namePrefix: 'serving-',
    request,
    signerName: 'kubernetes.io/kubelet-serving',
    usages: ['digital signature', 'server auth'],
    approve: true,
    signal: new AbortController().signal,
  });
  const options = { key, cert, ca: client.config.ca, requestCert: true, rejectUnauthorized: true };
  const server = createServer(options, (incoming, response) => {
    const { subject } = (incoming.socket as TLSSocket).getPeerCertificate();
    asked.push(`${subject.CN} ${incoming.method} ${incoming.url}`);
    answer(incoming, response);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return server;
}

async function makeNode(name: string, address: string, port: number): Promise<void> {
  await client.create(NODES, { apiVersion: 'v1', kind: 'Node', metadata: { name } });
  await client.patch(NODES, { name, subresource: 'status' }, 'merge', {
    status: {
      addresses: [{ type: 'InternalIP', address }],
      daemonEndpoints: { kubeletEndpoint: { Port: port } },
    },
  });
}

async function makePod(name: string, nodeName: string | undefined, containers: string[]): Promise<void> {
  const spec = { nodeName, containers: containers.map((container) => ({ name: container, image: 'i' })) };
  const pod = await client.create(
    PODS,
    { apiVersion: 'v1', kind: 'Pod', metadata: { name }, spec },
    { namespace: 'default' },
  );
  await client.patch(PODS, { namespace: 'default', name, subresource: 'status' }, 'merge', {
    status: { phase: 'Running' },
  });
  expect(pod.metadata.name).toBe(name);
}

const says =
  (text: string, code = 200): Answer =>
  (_request, response) =>
    response.writeHead(code).end(text);
const failure = (args: string): Promise<string> =>
  kubectl.run(args).then(
    (output) => `no failure: ${output}`,
    (error: Error) => error.message.replace(/^.*exited with 1: /, '').trim(),
  );

test('serves kubectl logs with all options', async () => {
  answer = says('one\ntwo\n');
  expect(await kubectl.run('logs web')).toBe('one\ntwo\n');
  await kubectl.run('logs two -c b --tail=3 --since=10s --timestamps --limit-bytes=100 --previous');
  await kubectl.run('logs web --since-time=2026-01-02T03:04:05Z');
  expect(asked).toEqual([
    'kube-apiserver-kubelet-client GET /containerLogs/default/web/nginx',
    'kube-apiserver-kubelet-client GET /containerLogs/default/two/b?previous=true&timestamps=true&sinceSeconds=10&tailLines=3&limitBytes=100',
    'kube-apiserver-kubelet-client GET /containerLogs/default/web/nginx?sinceTime=2026-01-02T03%3A04%3A05Z',
  ]);
});

test('streams a followed log line by line until the container ends', async () => {
  let write: (text: string) => void = () => {};
  let end: () => void = () => {};
  answer = (_request, response) => {
    write = (text) => void response.write(text);
    end = () => void response.end();
    write('first\n');
  };
  const path = '/api/v1/namespaces/default/pods/web/log?follow=true';
  const lines: string[] = [];
  const following = follow(path, (text) => lines.push(text));
  await vi.waitFor(() => expect(lines.join('')).toBe('first\n'), PATIENCE_MS);
  write('second\n');
  await vi.waitFor(() => expect(lines.join('')).toBe('first\nsecond\n'), PATIENCE_MS);
  end();
  await following.ended;

  asked.length = 0;
  const output = kubectl.run('logs -f web');
  await vi.waitFor(() => expect(asked).toHaveLength(1), PATIENCE_MS);
  write('last\n');
  end();
  expect(await output).toBe('first\nlast\n');
});

test('ends the request to the node when the client disconnects', async () => {
  const left = new Promise<void>((resolve) => {
    answer = (_request, response) => {
      response.write('hello\n');
      response.on('close', resolve);
    };
  });
  const following = follow('/api/v1/namespaces/default/pods/web/log?follow=true', () => following.leave());
  await left;
  await following.ended;
});

test('ends the request to the node when the client disconnects before the response', async () => {
  let leave: () => void = () => {};
  const left = new Promise<void>((resolve) => {
    answer = (_request, response) => {
      response.on('close', resolve);
      leave();
    };
  });
  const following = follow('/api/v1/namespaces/default/pods/web/log?follow=true', () => undefined);
  leave = () => following.leave();
  await left;
  await following.ended;
});

test('breaks the log off when the node breaks it off', async () => {
  answer = (request, response) => {
    response.write('hello\n');
    setTimeout(() => request.socket.destroy(), 50);
  };
  const following = follow('/api/v1/namespaces/default/pods/web/log?follow=true', () => undefined);
  await expect(following.ended).rejects.toThrow();
});

test('reports errors in the words of kube-apiserver', async () => {
  expect(await failure('get --raw /api/v1/namespaces/default/pods/two/log')).toBe(
    'Error from server (BadRequest): a container name must be specified for pod two, choose one of: [a b]',
  );
  expect(await failure('get --raw /api/v1/namespaces/default/pods/web/log?container=x')).toBe(
    'Error from server (BadRequest): container x is not valid for pod web',
  );
  expect(await failure('get --raw /api/v1/namespaces/default/pods/web/log/x')).toBe(
    'Error from server (NotFound): the server could not find the requested resource',
  );
  expect(await kubectl.run('logs waiting')).toBe('');
  answer = says('container "nginx" in pod "web" is waiting to start: ContainerCreating', 400);
  expect(await failure('logs web')).toBe(
    'Error from server (BadRequest): container "nginx" in pod "web" is waiting to start: ContainerCreating',
  );
  answer = says('disk on fire', 500);
  expect(await failure('logs web')).toBe(
    'Error from server (InternalError): Internal error occurred: disk on fire',
  );
  expect(asked).toHaveLength(2);
});

test('does not send requests to an unreachable node or to one with a wrong certificate', async () => {
  const gone = await startKubelet('127.0.0.1');
  const { port } = gone.address() as AddressInfo;
  await new Promise((resolve) => gone.close(resolve));
  await makeNode('away', '127.0.0.1', port);
  await makePod('on-away', 'away', ['c']);
  expect(await failure('logs on-away')).toBe(
    `Error from server: Get "https://127.0.0.1:${port}/containerLogs/default/on-away/c": dial tcp 127.0.0.1:${port}: connect: connection refused`,
  );
  const impostor = await startKubelet('127.0.0.9');
  await makeNode('false', '127.0.0.1', (impostor.address() as AddressInfo).port);
  await makePod('on-false', 'false', ['c']);
  expect(await failure('logs on-false')).toContain("IP: 127.0.0.1 is not in the cert's list: 127.0.0.9");
  impostor.close();
  await makePod('on-none', 'none', ['c']);
  expect(await failure('logs on-none')).toBe('Error from server (NotFound): nodes "none" not found');
  expect(asked).toEqual([]);
});

test('reports that exec, attach and port-forward are not supported', async () => {
  answer = says(NOT_HERE, 501);
  expect(await failure('exec web -- ls -l')).toBe(`Error from server: ${NOT_HERE}`);
  expect(await failure('attach web')).toContain(NOT_HERE);
  expect(await failure('port-forward web 0:80')).toContain(NOT_HERE);
  const paths = asked.map((line) => line.split(' ').slice(1).join(' '));
  expect(paths).toContain('POST /exec/default/web/nginx?command=ls&command=-l&output=1&error=1');
  expect(paths).toContain('POST /portForward/default/web');
  expect(await failure('exec waiting -- ls')).toBe(
    'Error from server (BadRequest): pod waiting does not have a host assigned',
  );
});

test('forwards nodes/proxy to the kubelet', async () => {
  answer = says('fine');
  expect(await kubectl.run('get --raw /api/v1/nodes/n1/proxy/stats/summary?only=cpu')).toBe('fine');
  expect(asked).toEqual(['kube-apiserver-kubelet-client GET /stats/summary?only=cpu']);
});

test('accepts the port of the kubelet in nodes/proxy, and no other', async () => {
  answer = says('fine');
  const { status } = await client.get(NODES, { name: 'n1' });
  const port = status?.daemonEndpoints?.kubeletEndpoint?.Port;
  for (const name of [`n1:${port}`, `https:n1:${port}`])
    expect(await kubectl.run(`get --raw /api/v1/nodes/${name}/proxy/healthz`)).toBe('fine');
  expect(await failure('get --raw /api/v1/nodes/n1:1/proxy/healthz')).toContain(
    `port 1 of node "n1" cannot be reached through the API server: only that of its kubelet, ${port}`,
  );
  expect(await failure('get --raw /api/v1/nodes/none:1/proxy/healthz')).toContain('nodes "none" not found');
});

test('lists the subresources in discovery', async () => {
  const { resources } = (await client.raw({ method: 'GET', path: '/api/v1' })) as {
    resources: { name: string; kind: string; verbs: string[] }[];
  };
  const found = Object.fromEntries(resources.map(({ name, kind, verbs }) => [name, [kind, ...verbs]]));
  expect(found).toMatchObject({
    'pods/log': ['Pod', 'get'],
    'pods/exec': ['PodExecOptions', 'create', 'get'],
    'pods/attach': ['PodAttachOptions', 'create', 'get'],
    'pods/portforward': ['PodPortForwardOptions', 'create', 'get'],
    'nodes/proxy': ['NodeProxyOptions', 'get'],
  });
});

/** Reads a log as a client that can also disconnect. */
function follow(path: string, onText: (text: string) => void): { ended: Promise<void>; leave(): void } {
  const leaving = new AbortController();
  const read = async (): Promise<void> => {
    const { cert, key } = await client.config.credentials.current();
    const options = { ca: client.config.ca, cert, key, signal: leaving.signal };
    const [response] = (await once(httpsRequest(`${embedded.url}${path}`, options).end(), 'response')) as [
      IncomingMessage,
    ];
    for await (const chunk of response) onText(String(chunk));
  };
  const ended = read().catch((error: unknown) => {
    if (!leaving.signal.aborted) throw error;
  });
  return { ended, leave: () => leaving.abort() };
}
