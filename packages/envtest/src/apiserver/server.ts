import { randomInt, randomUUID } from 'node:crypto';
import { setMaxListeners } from 'node:events';
import { type IncomingMessage, ServerResponse } from 'node:http';
import { createServer, type Server } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import { join } from 'node:path';
import type { Duplex } from 'node:stream';
import { type Logger, Metrics } from '@tidegate/kube';
import { openAdmission } from './admission/index.ts';
import { storeServiceResolver } from './admission/webhooks/service-resolver.ts';
import { WebhookTransport } from './admission/webhooks/transport.ts';
import { Authenticator } from './auth/authenticate.ts';
import { anyOf, masters } from './auth/authorization.ts';
import { writeKubeconfig } from './auth/kubeconfig.ts';
import { NodeAuthorizer } from './auth/node-authorizer.ts';
import { openPki, type Pki } from './auth/pki.ts';
import { bootstrapPolicy } from './auth/rbac/bootstrap-policy.ts';
import { Rbac } from './auth/rbac/rbac.ts';
import { ServiceAccountTokens } from './auth/tokens.ts';
import { bootstrap } from './bootstrap.ts';
import { builtins } from './builtins.ts';
import { startControllers } from './controllers.ts';
import { documentsOf } from './documents.ts';
import { createHandler } from './http/handler.ts';
import { KubernetesService } from './kubernetes-service.ts';
import type { Core, WriteOptions } from './operations/core.ts';
import { QuotaLedger } from './quota/ledger.ts';
import { requestMetrics } from './request-metrics.ts';
import { addressRange, toAddress } from './resources/service/pool.ts';
import { Registry } from './served/registry.ts';
import { openStore } from './store/index.ts';
import { startWorkers } from './workers.ts';

/** Options of {@link startApiServer}. */
export interface ApiServerOptions {
  /** Data directory: objects are in `store/`, keys and certificates in `pki/`. */
  directory: string;
  /** Default: 127.0.0.1, because every client that can connect can try to authenticate. */
  host?: string;
  /** 0 selects a free port. */
  port?: number;
  log: Logger;
  /** The version of Tidegate, shown in `/version`. */
  version: string;
  /** The range of ClusterIPs. Default: 10.96.0.0/16. A range cannot change while Services exist. */
  serviceCIDR?: string;
  /** Serves metrics.k8s.io, with the usage that annotations declare. Off by default, as in a cluster without metrics-server. */
  podMetrics?: boolean;
  /** Additional names and addresses for the serving certificate. */
  hosts?: string[];
  now?: () => Date;
}

/** A running API server. `core` is for code in the same process that must bypass HTTP, authentication and RBAC. */
export interface ApiServer {
  readonly url: string;
  readonly port: number;
  readonly pki: Pki;
  /** Direct access for code in the same process. Everything else uses the API. */
  readonly core: Core;
  writeAdminKubeconfig(path: string, context?: string): void;
  close(): Promise<void>;
}

const DEFAULT_SERVICE_CIDR = '10.96.0.0/16';

/** The user of the server's own writes. */
const SYSTEM: WriteOptions = {
  user: { username: 'system:apiserver', groups: ['system:masters'] },
  dryRun: false,
  fieldManager: 'tidegate',
  warn: () => undefined,
};

/**
 * Starts an API server on a data directory of its own. Use `startCluster` of `@tidegate/envtest` for tests; this
 * function is for programs that run a server for a longer time and manage its directory, port and certificates.
 *
 * The parts start in the order of their dependencies: store, keys and certificates, resources, admission, bootstrap
 * objects, controllers, listener, and the Service that names the listener. They stop in reverse order, so that no
 * part uses another one that is already closed.
 *
 * @example
 * ```ts
 * const server = await startApiServer({ directory: '/var/lib/edge', port: 6443, log: pino(), version: '1.0.0' });
 * server.writeAdminKubeconfig('/etc/edge/admin.kubeconfig');
 * process.once('SIGTERM', () => void server.close());
 * ```
 */
export async function startApiServer(options: ApiServerOptions): Promise<ApiServer> {
  const { log, host = '127.0.0.1', serviceCIDR = DEFAULT_SERVICE_CIDR, podMetrics = false } = options;
  // The first address belongs to the Service `kubernetes`.
  const clusterIP = toAddress(addressRange(serviceCIDR).first);
  const now = options.now ?? ((): Date => new Date());
  const closers: (() => Promise<void> | void)[] = [];
  const close = async (): Promise<void> => {
    for (const closer of closers.splice(0).reverse()) await closer();
  };
  try {
    const store = await openStore({ directory: join(options.directory, 'store'), log });
    closers.push(() => store.close());
    const pki = openPki({
      directory: join(options.directory, 'pki'),
      hosts: [host, clusterIP, ...(options.hosts ?? [])],
      now,
    });
    const metrics = new Metrics();
    const stopping = new AbortController();
    // Every open watch adds a listener.
    setMaxListeners(0, stopping.signal);

    const rbac = new Rbac(store);
    const nodes = new NodeAuthorizer(store);
    closers.push(
      () => rbac.close(),
      () => nodes.close(),
    );
    const authorizer = anyOf(masters, nodes, rbac);
    const issuer = 'https://kubernetes.default.svc.cluster.local';
    const tokens = new ServiceAccountTokens({ key: pki.serviceAccountKey, store, issuer, now });
    const authenticator = new Authenticator({ tokens, now });

    const registry = new Registry();
    const random = (limit: number): number => randomInt(limit);
    const ledger = new QuotaLedger(store, registry);
    closers.push(() => ledger.close());
    const admission = openAdmission({ store, registry, rbac, authorizer, ledger, random });
    closers.push(() => admission.close());
    const core: Core = {
      store,
      registry,
      admission,
      now,
      uuid: randomUUID,
      random,
    };
    const resources = builtins({
      core,
      pki,
      tokens,
      authenticator,
      authorizer,
      rbac,
      serviceCIDR,
      podMetrics,
    });
    closers.push(() => resources.close());
    for (const definition of resources.definitions) registry.set(definition);
    await bootstrap(core, SYSTEM, bootstrapPolicy());
    const transport = new WebhookTransport(storeServiceResolver(store));
    closers.push(() => transport.close());
    const controllers = startControllers({
      core,
      options: SYSTEM,
      pki,
      authorizer,
      ledger,
      transport,
      serviceCIDR,
      log,
      metrics,
    });
    closers.push(() => controllers.close());

    let url = '';
    const documents = documentsOf({
      core,
      metrics,
      url: () => url,
      version: options.version,
      key: pki.serviceAccountKey,
      issuer,
    });
    const handler = createHandler({
      core,
      authenticator,
      authorizer,
      documents,
      signal: stopping.signal,
      onRequest: requestMetrics(metrics, log),
      onError: (error, info) => log.error({ err: error, request: info }, 'request failed unexpectedly'),
    });
    const server = createServer(
      {
        cert: pki.serving.certificate,
        key: pki.serving.key,
        ca: pki.ca,
        requestCert: true,
        // A client without a certificate may have a token; the authenticator decides.
        rejectUnauthorized: false,
        minVersion: 'TLSv1.2',
        keepAliveTimeout: 90_000,
        // Watches are open for any time. Only the headers of a request have a timeout.
        requestTimeout: 0,
      },
      handler,
    );
    server.on('upgrade', (request, socket, head) => handler(request, responseTo(request, socket, head)));
    closers.push(await listen(server, options.port ?? 6443, host, stopping));
    const { address, port } = server.address() as AddressInfo;
    url = `https://${host.includes(':') ? `[${host}]` : host}:${port}`;
    const kubernetes = new KubernetesService(core, SYSTEM, { address, port, clusterIP });
    await kubernetes
      .publish()
      .catch((error: unknown) =>
        log.warn({ err: error }, 'cannot publish the Service default/kubernetes; retrying'),
      );
    const keeper = { make: kubernetes.worker.bind(kubernetes), concurrency: 1 };
    const keeping = startWorkers({ 'kubernetes-service': keeper }, { store, log, metrics });
    closers.push(() => keeping.close());
    return {
      url,
      port,
      pki,
      core,
      writeAdminKubeconfig: (path, context = 'tidegate') =>
        writeKubeconfig({
          path,
          server: url,
          ca: pki.ca,
          certificate: pki.admin.certificate,
          key: pki.admin.key,
          context,
        }),
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

/**
 * The response to a request that wants to switch the protocol. Node leaves the connection to the server then, so an
 * ordinary response must close it.
 */
function responseTo(request: IncomingMessage, socket: Duplex, head: Buffer): ServerResponse {
  if (head.length > 0) socket.unshift(head);
  const response = new ServerResponse(request);
  response.shouldKeepAlive = false;
  response.assignSocket(socket as Socket);
  response.once('finish', () => socket.end());
  return response;
}

/** Starts to listen. Resolves with a function that stops listening and closes all connections. */
async function listen(
  server: Server,
  port: number,
  host: string,
  stopping: AbortController,
): Promise<() => Promise<void>> {
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    socket.setNoDelay(true);
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  // Failed TLS handshakes, for example from plain HTTP clients, are not errors of the server.
  server.on('tlsClientError', (_error, socket) => socket.destroy());
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, () => {
      server.off('error', reject);
      resolve();
    });
  });
  return async () => {
    const closed = new Promise<void>((resolve) => server.close(() => resolve()));
    stopping.abort();
    server.closeIdleConnections();
    const patience = setTimeout(() => {
      for (const socket of sockets) socket.destroy();
    }, 2000);
    await closed;
    clearTimeout(patience);
  };
}
