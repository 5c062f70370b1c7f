/**
 * A provisioner that is not part of Tidegate: the load balancer of a router is an HTTP server in this process. It reads
 * L7Routers of its driver, and writes their status. Everything else is done by the manager: classes, parameters, placement,
 * capacity, and the addresses in the status of Ingresses. See docs/guides/write-a-provisioner.md.
 */
import { createServer, request, type Server } from 'node:http';
import {
  Applier,
  addFinalizer,
  Controller,
  ENDPOINT_SLICES,
  INGRESSES,
  Informers,
  isBeingDeleted,
  type KubeClient,
  type KubeObject,
  type Resource,
  removeFinalizer,
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
  const slices = informers.for(ENDPOINT_SLICES);
  const applier = new Applier(client, DRIVER);
  const servers = new Map<string, { server: Server; routes: Map<string, Backend[]> }>();

  async function reconcile(name: string): Promise<void> {
    const router = routers.cache.get(name);
    if (router !== undefined && router.spec.driver !== DRIVER) return;
    if (router === undefined || isBeingDeleted(router)) {
      servers.get(name)?.server.close();
      servers.delete(name);
      // The load balancer is gone, so the router may go too.
      if (router !== undefined) await removeFinalizer(client, L7_ROUTERS, router, FINALIZER);
      return;
    }
    await addFinalizer(client, L7_ROUTERS, router, FINALIZER);
    const { server, routes } = servers.get(name) ?? (await start(name));
    routes.clear();
    for (const host of router.spec.hosts ?? []) routes.set(host, backendsOf(router, host));
    await report(router, (server.address() as { port: number }).port);
  }

  async function start(name: string) {
    const routes = new Map<string, Backend[]>();
    const server = createServer((incoming, outgoing) => {
      const backends = routes.get((incoming.headers.host ?? '').replace(/:\d+$/, ''));
      const found = backends?.find(({ path }) => incoming.url?.startsWith(path));
      const endpoint = found && endpointOf(found.service);
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

  function endpointOf(service: string): { host: string; port: number } | undefined {
    const [slice] = slices.cache
      .list()
      .filter(
        ({ metadata }) =>
          `${metadata.namespace}/${metadata.labels?.['kubernetes.io/service-name']}` === service,
      );
    const host = slice?.endpoints?.find(({ conditions }) => conditions?.ready !== false)?.addresses[0];
    const port = slice?.ports?.[0]?.port;
    return host === undefined || port === undefined ? undefined : { host, port };
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
  const controller = new Controller({ name: 'f5', reconcile })
    .watch(routers)
    .watch(claims, everyRouter)
    .watch(ingresses, everyRouter);
  await Promise.all([informers.run(signal), slices.synced, controller.run(signal)]);
  for (const { server } of servers.values()) server.close();
}
