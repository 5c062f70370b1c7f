import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer, type Server } from 'node:https';
import type { Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { type Clock, type KubeClient, type Logger, systemClock } from '@tidegate/kube';
import type { ContainerLogs, NodePods } from '../contracts.ts';
import { keepServingCertificate } from './certificate.ts';
import { RequestError, sendContainerLogs } from './container-logs.ts';

/** Options of the HTTPS server of a node, which the API server calls for logs. */
export interface KubeletServerOptions {
  /**
   * With the identity of this node's kubelet. Its configuration has the cluster's CA, and it requests the
   * certificate.
   */
  client: KubeClient;
  nodeName: string;
  address: string;
  port: number;
  /** Holds the certificate. */
  directory: string;
  pods: NodePods;
  logs: ContainerLogs;
  log: Logger;
  clock?: Clock;
}

/** A running server. */
export interface KubeletServer {
  close(): Promise<void>;
}

/** The only user that is authorized. */
const API_SERVER = 'kube-apiserver-kubelet-client';
const NOT_SUPPORTED = ['exec', 'attach', 'portForward', 'run'];

/**
 * The kubelet's HTTPS server, for the API server. It listens immediately; TLS handshakes fail until the cluster has
 * signed its certificate. A renewed certificate replaces the old one without closing connections.
 */
export async function startKubeletServer(options: KubeletServerOptions): Promise<KubeletServer> {
  const { client, address, port, log, clock = systemClock } = options;
  const { ca } = client.config;
  // Without the cluster's CA, a certificate of any public CA would be accepted.
  if (ca === undefined)
    throw new Error(
      "the node's kubeconfig has no certificate-authority; add the CA certificate of the cluster",
    );
  const server = createServer(
    { ca, requestCert: true, rejectUnauthorized: false, requestTimeout: 0 },
    (request, response) => answer(options, request, response),
  );
  const sockets = await listen(server, port, address);
  const stop = new AbortController();
  const keeping = keepServingCertificate(
    { ...options, ca, clock },
    (certificate) => server.setSecureContext({ ...certificate, ca }),
    stop.signal,
  ).catch((err: unknown) => log.error({ err }, 'the certificate of the kubelet server is no longer renewed'));
  return {
    close: async () => {
      stop.abort();
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      for (const socket of sockets) socket.destroy();
      await Promise.all([closed, keeping]);
    },
  };
}

/** Resolves to the set of open connections. */
async function listen(server: Server, port: number, address: string): Promise<ReadonlySet<Socket>> {
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  // Ignore clients that abort the handshake or connect before the certificate is available.
  server.on('tlsClientError', (_error, socket) => socket.destroy());
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, address, () => {
      server.off('error', reject);
      resolve();
    });
  });
  return sockets;
}

function answer(options: KubeletServerOptions, request: IncomingMessage, response: ServerResponse): void {
  const failed = (error: unknown): void => {
    if (!(error instanceof RequestError))
      options.log.error({ err: error, url: request.url }, 'request failed');
    // Break the connection, so that the client does not mistake a partial log for a complete one.
    if (response.headersSent) response.destroy();
    else if (error instanceof RequestError) sendText(response, error.code, error.message);
    else sendText(response, 500, 'internal server error; see the log of the node');
  };
  try {
    authenticate(request.socket as TLSSocket);
    route(options, request, response).catch(failed);
  } catch (error) {
    failed(error);
  }
}

/** Only the API server's client certificate is accepted. It has already authorized the user. */
function authenticate(socket: TLSSocket): void {
  if (!socket.authorized) throw new RequestError(401, 'Unauthorized');
  const name = socket.getPeerCertificate().subject?.CN;
  if (name !== API_SERVER)
    throw new RequestError(403, `Forbidden (user=${name}): only the API server is authorized`);
}

async function route(
  options: KubeletServerOptions,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { pathname, searchParams } = new URL(request.url ?? '/', 'https://node');
  const [first = '', ...rest] = pathname.split('/').slice(1).map(decodeURIComponent);
  if (NOT_SUPPORTED.includes(first)) {
    const text = `${first} is not supported: the pods of the embedded cluster are processes of this machine`;
    throw new RequestError(501, text);
  }
  if (request.method !== 'GET') throw new RequestError(405, `method ${request.method} is not allowed`);
  switch (first) {
    case 'containerLogs':
      return sendContainerLogs(options, rest, searchParams, response);
    case 'healthz':
      return sendText(response, 200, 'ok');
    case 'pods':
      return sendPods(options.pods, response);
    case 'metrics':
      return sendText(response, 200, metricsOf(options.pods));
    default:
      throw new RequestError(404, `${pathname} not found`);
  }
}

function sendText(response: ServerResponse, code: number, text: string): void {
  response.writeHead(code, { 'content-type': 'text/plain; charset=utf-8' }).end(text);
}

function sendPods(pods: NodePods, response: ServerResponse): void {
  const list = { kind: 'PodList', apiVersion: 'v1', metadata: {}, items: pods.list() };
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(list));
}

function metricsOf(pods: NodePods): string {
  const statuses = pods.list().flatMap(({ status }) => status?.containerStatuses ?? []);
  const running = statuses.filter(({ state }) => state?.running !== undefined).length;
  return `# HELP kubelet_running_pods Pods of this node.
# TYPE kubelet_running_pods gauge
kubelet_running_pods ${pods.list().length}
# HELP kubelet_running_containers Containers that run now.
# TYPE kubelet_running_containers gauge
kubelet_running_containers{container_state="running"} ${running}
`;
}
