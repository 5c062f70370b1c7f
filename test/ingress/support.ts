/**
 * Runs the ingress controllers with an embedded API server. No pods run: the test writes what router pods would
 * report.
 */
import { setMaxListeners } from 'node:events';
import { inspect } from 'node:util';
import {
  Applier,
  EventRecorder,
  INGRESS_CLASSES,
  INGRESSES,
  Informers,
  type Ingress,
  isNotFound,
  type KubeClient,
  type KubeObject,
  type Logger,
  Metrics,
  NODES,
  PODS,
  type Resource,
  silentLogger,
  systemClock,
} from '@tidegate/kube';
import { expect } from 'vitest';
import {
  HOST_CLAIMS,
  INGRESS_CLASS_PARAMETERS,
  L7_ROUTERS,
  type L7Router,
  ROUTER_LABEL,
  ROUTER_NAMESPACE,
  SYSTEM_NAMESPACE,
} from '../../packages/tidegate/src/api/index.ts';
import {
  type Provisioner,
  type RouterPolicy,
  runIngressControllers,
} from '../../packages/tidegate/src/ingress/index.ts';
import { type EmbeddedWithKinds, startEmbeddedWithKinds } from '../support/embedded.ts';
import { eventually } from '../support/patience.ts';

const EVENTS: Resource = { group: '', version: 'v1', resource: 'events', namespaced: true };

interface WorldOptions {
  /** Provisioners besides those of every manager. */
  provisioners?: readonly Provisioner[];
  /** What else may run as a router, and where. */
  routerPolicy?: RouterPolicy;
}

/** An API server and the running ingress controllers. */
export class IngressWorld {
  readonly client: KubeClient;
  /** Warnings and errors that the controllers logged. */
  readonly errors: string[] = [];
  readonly #server: EmbeddedWithKinds;
  readonly #more: WorldOptions;
  readonly #applier: Applier;
  #stop = new AbortController();
  #running: Promise<unknown> = Promise.resolve();

  private constructor(server: EmbeddedWithKinds, more: WorldOptions) {
    this.#more = more;
    this.#server = server;
    this.client = server.client;
    this.#applier = new Applier(server.client, 'test');
  }

  get kubeconfig(): string {
    return this.#server.kubeconfig;
  }

  static async start(more: WorldOptions = {}): Promise<IngressWorld> {
    const world = new IngressWorld(await startEmbeddedWithKinds(), more);
    for (const name of [SYSTEM_NAMESPACE, ROUTER_NAMESPACE, 'shop', 'rival'])
      await world.make({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } });
    await world.make({
      apiVersion: 'v1',
      kind: 'ServiceAccount',
      metadata: { name: 'default', namespace: ROUTER_NAMESPACE },
    });
    world.startControllers();
    return world;
  }

  /** Can be called again after stopControllers, to simulate a restart of the manager. */
  startControllers(): void {
    const { client } = this;
    this.#stop = new AbortController();
    const { signal } = this.#stop;
    setMaxListeners(0, signal);
    const informers = new Informers(client);
    const recorder = new EventRecorder(client, { component: 'tidegate-manager' });
    const log = complaints(this.errors);
    const context = { client, informers, recorder, metrics: new Metrics(), log, clock: systemClock };
    this.#running = Promise.all([
      informers.run(signal),
      runIngressControllers({ ...context, routerImage: 'tidegate', ...this.#more }, signal),
    ]).finally(() => recorder.close());
  }

  async stopControllers(): Promise<void> {
    this.#stop.abort();
    await this.#running;
  }

  async stop(): Promise<void> {
    await this.stopControllers();
    await this.#server.stop();
  }

  /** Deletes all objects of a test. Routers disappear with their Ingresses. */
  async clear(): Promise<void> {
    const { client } = this;
    for (const namespace of ['shop', 'rival']) await client.deleteCollection(INGRESSES, { namespace });
    await eventually(async () => (await this.routers()).every((router) => router.endsWith(': all')));
    await client.deleteCollection(L7_ROUTERS);
    await eventually(async () => (await this.routers()).length === 0);
    // Hosts that no Ingress names any more are reserved for their namespace.
    await client.deleteCollection(HOST_CLAIMS);
    await client.deleteCollection(INGRESS_CLASSES);
    await client.deleteCollection(INGRESS_CLASS_PARAMETERS, { namespace: SYSTEM_NAMESPACE });
    await client.deleteCollection(PODS, { namespace: ROUTER_NAMESPACE, gracePeriodSeconds: 0 });
    await client.deleteCollection(NODES);
  }

  async make(...objects: KubeObject[]): Promise<void> {
    for (const object of objects) await this.#applier.apply(object);
  }

  /**
   * Creates a class, with an IngressClassParameters of the same name in the system namespace if it has parameters.
   */
  async makeClass(name: string, parameters?: Record<string, string>, controller = 'tidegate.io/embedded') {
    if (parameters !== undefined) await this.make(parametersObject(name, parameters));
    await this.make(classObject(name, parameters === undefined ? undefined : name, controller));
  }

  async router(name: string): Promise<L7Router | undefined> {
    return this.client.get(L7_ROUTERS, { name }).catch(undefinedIfGone);
  }

  /** All routers with their hosts, sorted: `gold: a.example b.example`. Leaving hosts are in parentheses. */
  async routers(): Promise<string[]> {
    const { items } = await this.client.list(L7_ROUTERS);
    return items
      .map(({ metadata, spec }) => {
        const hosts = spec.hosts?.map((host) => (spec.leaving?.includes(host) ? `(${host})` : host));
        return `${metadata.name}: ${hosts?.join(' ') ?? 'all'}`;
      })
      .sort();
  }

  /** Waits until these are the routers, in the format of `routers`. */
  async routersAre(...expected: string[]): Promise<void> {
    await expect.poll(() => this.routers(), { interval: 10 }).toEqual(expected);
  }

  /** Creates a ready pod of the router, on a node of its own. */
  async run(router: string, number = 1): Promise<void> {
    const node = `node-${router}-${number}`;
    await this.make({ apiVersion: 'v1', kind: 'Node', metadata: { name: node } });
    const addresses = [{ type: 'InternalIP', address: `192.0.2.${lastOctet(node)}` }];
    await this.client.patch(NODES, { name: node, subresource: 'status' }, 'merge', { status: { addresses } });
    const name = `${router}-pod-${number}`;
    await this.make({
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name, namespace: ROUTER_NAMESPACE, labels: { [ROUTER_LABEL]: router } },
      spec: { nodeName: node, containers: [{ name: 'router', image: 'tidegate' }] },
    });
    const conditions = [{ type: 'Ready', status: 'True' }];
    const target = { name, namespace: ROUTER_NAMESPACE, subresource: 'status' };
    await this.client.patch(PODS, target, 'strategic', { status: { phase: 'Running', conditions } });
  }

  /** Reports, like the agent in the pod, that the current generation of the L7Router is served. */
  async serve(router: string, number = 1): Promise<void> {
    const { metadata, apiVersion, kind } = (await this.router(router))!;
    const name = `${router}-pod-${number}`;
    const agent = { name, appliedGeneration: metadata.generation, time: '2026-01-01T00:00:00Z' };
    const object = { apiVersion, kind, metadata: { name: router }, status: { agents: [agent] } };
    await new Applier(this.client, name).applyStatus(object as KubeObject, { resource: L7_ROUTERS });
  }

  async ingress(name: string, namespace = 'shop'): Promise<Ingress> {
    return this.client.get(INGRESSES, { name, namespace });
  }

  async addressesOf(ingress: string): Promise<(string | undefined)[]> {
    return (await this.ingress(ingress)).status?.loadBalancer?.ingress?.map(({ ip }) => ip) ?? [];
  }

  isGone<T extends KubeObject>(resource: Resource<T>, name: string, namespace?: string): Promise<boolean> {
    return this.client.get(resource, { name, namespace }).then(() => false, isNotFound);
  }

  async remove<T extends KubeObject>(resource: Resource<T>, name: string, namespace?: string): Promise<void> {
    await this.client.delete(resource, { name, namespace });
  }

  /** `reason: message` of all events of the object. */
  async eventsOf(kind: string, name: string): Promise<string[]> {
    const { items } = await this.client.list(EVENTS);
    return items
      .filter(({ involvedObject }) => {
        const about = involvedObject as { kind: string; name: string };
        return about.kind === kind && about.name === name;
      })
      .map(({ reason, message }) => `${reason}: ${message}`);
  }
}

export const classObject = (name: string, parameters?: string, controller = 'tidegate.io/embedded') => ({
  apiVersion: 'networking.k8s.io/v1',
  kind: 'IngressClass',
  metadata: { name },
  spec: {
    controller,
    ...(parameters !== undefined && {
      parameters: {
        apiGroup: 'networking.tidegate.io',
        kind: 'IngressClassParameters',
        name: parameters,
        scope: 'Cluster',
      },
    }),
  },
});

export const parametersObject = (
  name: string,
  parameters: Record<string, string>,
  namespace = SYSTEM_NAMESPACE,
) => ({
  apiVersion: 'networking.tidegate.io/v1alpha1',
  kind: 'IngressClassParameters',
  metadata: { name, namespace },
  parameters,
});

/** An Ingress whose hosts have `paths` paths each. */
export const ingressObject = (
  name: string,
  className: string,
  hosts: readonly string[],
  { namespace = 'shop', paths = 1, secretName = undefined as string | undefined } = {},
): KubeObject => ({
  apiVersion: 'networking.k8s.io/v1',
  kind: 'Ingress',
  metadata: { name, namespace },
  spec: {
    ingressClassName: className,
    ...(secretName !== undefined && { tls: [{ hosts, secretName }] }),
    rules: hosts.map((host) => ({
      ...(host !== '' && { host }),
      http: {
        paths: Array.from({ length: paths }, (_, index) => ({
          path: index === 0 ? '/' : `/${index}`,
          pathType: 'Prefix',
          backend: { service: { name: 'web', port: { number: 80 } } },
        })),
      },
    })),
  },
});

/** A Deployment and its Service `web`, for clusters that run pods. */
export const webObjects = (image = 'web') => [
  {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'web' },
    spec: {
      selector: { matchLabels: { app: 'web' } },
      template: {
        metadata: { labels: { app: 'web' } },
        spec: { containers: [{ name: 'web', image, ports: [{ containerPort: 8080 }] }] },
      },
    },
  },
  {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: 'web' },
    spec: { selector: { app: 'web' }, ports: [{ port: 80, targetPort: 8080 }] },
  },
];

export const undefinedIfGone = (error: unknown): undefined => {
  if (!isNotFound(error)) throw error;
};

/** A hash. Collisions are unlikely with the few names of a test. */
const lastOctet = (text: string): number =>
  [...text].reduce((sum, letter) => (sum * 31 + letter.charCodeAt(0)) % 250, 0) + 1;

/** A logger that collects warnings and errors. */
function complaints(errors: string[]): Logger {
  const keep = (fields: object, message: string): void => {
    errors.push(`${message} ${inspect(fields)}`);
  };
  return { ...silentLogger, warn: keep, error: keep, child: () => complaints(errors) };
}
