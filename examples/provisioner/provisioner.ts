/**
 * A provisioner that is not part of Tidegate: the load balancer of a router is an HTTP server in this process. It reads
 * L7Routers of its driver, and writes their status. Everything else is done by the manager: classes, parameters, placement,
 * capacity, and the addresses in the status of Ingresses. See docs/guides/write-a-provisioner.md.
 */
import { createServer, request, type Server } from 'node:http';
import {
  Applier,
  Controller,
  finalizing,
  INGRESSES,
  Informers,
  type KubeClient,
  type KubeObject,
  type Resource,
  ServiceEndpoints,
} from '@tidegate/kube';

/** The controller name in provisioner.yaml. It is also `spec.driver` of the L7Routers. */
export const DRIVER = 'example.com/f5';
const FINALIZER = 'example.com/f5';

type Router = KubeObject & { spec: { driver: string; ingressClassName: string; hosts?: string[] } };
type Claim = KubeObject & { spec: { ingressClassName: string; host: string; namespace: string } };

const tidegate = { group: 'networking.tidegate.io', version: 'v1alpha1', namespaced: false };
const L7_ROUTERS: Resource<Router> = { ...tidegate, resource: 'l7routers' };
const HOST_CLAIMS: Resource<Claim> = { ...tidegate, resource: 'hostclaims' };

interface Backend {
  path: string;
  service: string;
}

export async function runProvisioner(client: KubeClient, signal: AbortSignal): Promise<void> {
  const informers = new Informers(client);
  const routers = informers.for(L7_ROUTERS);
  const claims = informers.for(HOST_CLAIMS);
  const ingresses = informers.for(INGRESSES);
  const endpoints = new ServiceEndpoints(informers);
  const applier = new Applier(client, DRIVER);
  const servers = new Map<string, { server: Server; routes: Map<string, Backend[]> }>();

  async function ensure(router: Router): Promise<void> {
    const name = `${router.metadata.name}`;
    const { server, routes } = servers.get(name) ?? (await start(name));
    routes.clear();
    for (const host of router.spec.hosts ?? []) routes.set(host, backendsOf(router, host));
    await report(router, (server.address() as { port: number }).port);
  }

  async function remove(name: string): Promise<void> {
    servers.get(name)?.server.close();
    servers.delete(name);
  }

  async function start(name: string) {
    const routes = new Map<string, Backend[]>();
    const server = createServer((incoming, outgoing) => {
      const backends = routes.get((incoming.headers.host ?? '').replace(/:\d+$/, ''));
      const found = backends?.find(({ path }) => incoming.url?.startsWith(path));
      const [endpoint] = found === undefined ? [] : endpoints.of(found.service);
      if (endpoint === undefined) return void outgoing.writeHead(backends === undefined ? 404 : 503).end();
      const { url: path, method, headers } = incoming;
      const onward = request({ ...endpoint, path, method, headers }, (answer) => {
        outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
        answer.pipe(outgoing);
      });
      onward.on('error', () => outgoing.writeHead(502).end());
      incoming.pipe(onward);
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    servers.set(name, { server, routes });
    return { server, routes };
  }

  /** A host belongs to the namespace of its claim: rules of other namespaces do not count. */
  function backendsOf({ spec }: Router, host: string): Backend[] {
    const owner = claims.cache
      .list()
      .find((claim) => claim.spec.host === host && claim.spec.ingressClassName === spec.ingressClassName);
    const own = ingresses.cache.list().filter(({ metadata }) => metadata.namespace === owner?.spec.namespace);
    const paths = own
      .filter((ingress) => ingress.spec?.ingressClassName === owner?.spec.ingressClassName)
      .flatMap(({ metadata, spec }) =>
        (spec?.rules ?? [])
          .filter((rule) => rule.host === host)
          .flatMap((rule) => rule.http?.paths ?? [])
          .map(({ path = '/', backend }) => ({
            path,
            service: `${metadata.namespace}/${backend.service?.name}`,
          })),
      );
    return paths.sort((a, b) => b.path.length - a.path.length);
  }

  /** The generation is reported after its hosts are served, never before: then clients get the address. */
  async function report({ apiVersion, kind, metadata, status }: Router, port: number): Promise<void> {
    const condition = { type: 'Ready', status: 'True', reason: 'Serving', message: `serves port ${port}` };
    const lastTransitionTime = metadata.creationTimestamp;
    const wanted = {
      addresses: [{ ip: '127.0.0.1', ports: [{ port, protocol: 'TCP' }] }],
      appliedGeneration: metadata.generation,
      conditions: [{ ...condition, lastTransitionTime }],
    };
    if ((status as typeof wanted | undefined)?.appliedGeneration === metadata.generation) return;
    const object = { apiVersion, kind, metadata: { name: metadata.name }, status: wanted };
    await applier.applyStatus(object, { resource: L7_ROUTERS });
  }

  const everyRouter = (): string[] => routers.cache.list().map(({ metadata }) => `${metadata.name}`);
  const concerns = ({ spec }: Router): boolean => spec.driver === DRIVER;
  const owned = { client, informer: routers, finalizer: FINALIZER, concerns, ensure, remove };
  const controller = new Controller({ name: 'f5', reconcile: finalizing(owned) })
    .watch(routers)
    .watch(claims, everyRouter)
    .watch(ingresses, everyRouter);
  await Promise.all([informers.run(signal), endpoints.synced, controller.run(signal)]);
  for (const { server } of servers.values()) server.close();
}
