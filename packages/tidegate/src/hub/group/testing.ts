/** A node of a pool for tests: its site and its group, with objects that a test sets, over real connections. */
import {
  type ConnectionState,
  fixedCredential,
  type KubeObject,
  type Logger,
  Metrics,
  PODS,
  type Pod,
  SERVICES,
  silentLogger,
  systemClock,
} from '@tidegate/kube';
import { TestAuthority } from '../certificates/testing/authority.ts';
import { type OpenedSite, openSite } from '../site/index.ts';
import { FakeView } from '../views/testing.ts';
import type { OpenGroupOptions } from './open.ts';
import { type OpenedGroup, openGroup } from './open.ts';

export const AUTHORITY = new TestAuthority();
const TIMINGS = { beatMs: 50, silenceMs: 1_000, graceMs: 500, retryMs: 50 };
const NODES_GROUP = ['system:nodes'];

export const nodeClient = (name: string, authority = AUTHORITY) =>
  authority.issue({ commonName: `system:node:${name}`, organizations: NODES_GROUP, usage: 'clientAuth' });

/** A link to the cloud that a test cuts. */
export class Link implements ConnectionState {
  online = true;
  readonly #listeners = new Set<() => void>();
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }
  set(online: boolean): void {
    this.online = online;
    for (const listener of this.#listeners) listener();
  }
}

export const podOf = (name: string, ip: string, ready = true): Pod =>
  ({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace: 'shop', uid: `uid-${name}`, resourceVersion: '10', labels: { app: 'web' } },
    status: {
      phase: 'Running',
      podIP: ip,
      conditions: [{ type: 'Ready', status: ready ? 'True' : 'False' }],
    },
  }) as Pod;

/** A slice of the Service `web` with one endpoint. */
export const sliceOf = (pod: string, node: string, ip: string): KubeObject =>
  ({
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: {
      name: `web-${pod}`,
      namespace: 'shop',
      resourceVersion: '20',
      labels: {
        'kubernetes.io/service-name': 'web',
        'endpointslice.kubernetes.io/managed-by': 'endpointslice-controller.k8s.io',
      },
    },
    addressType: 'IPv4',
    endpoints: [
      {
        addresses: [ip],
        conditions: { ready: true, serving: true, terminating: false },
        nodeName: node,
        targetRef: { kind: 'Pod', namespace: 'shop', name: pod, uid: `uid-${pod}` },
      },
    ],
  }) as KubeObject;

export interface TestNodeOptions {
  name: string;
  /** The address of each node, which Node objects contain. */
  addresses: Record<string, string>;
  port: number;
  members: () => readonly string[];
  /** The serving certificate; by default that of the node. */
  serving?: { certificate: string; key: string };
}

export class TestNode {
  readonly link = new Link();
  readonly pods = new FakeView('10', PODS, 'Pod');
  readonly services = new FakeView('2', SERVICES);
  readonly site: OpenedSite;
  readonly group: OpenedGroup;
  /** Why connections to other nodes have ended, as `NODE: REASON`. */
  readonly problems: string[] = [];
  readonly #stop = new AbortController();
  readonly #running: Promise<void>;

  constructor({ name, addresses, port, members, serving }: TestNodeOptions) {
    const selector = { app: 'web' };
    const metadata = { name: 'web', namespace: 'shop', resourceVersion: '2' };
    this.services.put({ apiVersion: 'v1', kind: 'Service', metadata, spec: { selector } });
    this.site = openSite({
      nodeName: name,
      views: { private: () => ({ view: this.pods, release: () => {} }) },
      services: this.services,
      upstream: this.link,
      isWaiting: () => false,
      others: {
        inForce: () => this.group.inForce(),
        isMember: (node) => this.group.isMember(node),
        reportsOf: (node) => this.group.reportsOf(node),
      },
      onReports: () => this.group?.reportsChanged(),
      onForce: () => this.group?.forceChanged(),
      clock: systemClock,
    });
    const memory = new Map<string, Buffer>();
    const { certificate, key } = nodeClient(name);
    const get = async (_resource: unknown, target: { name: string }) => ({
      status: { addresses: [{ type: 'InternalIP', address: addresses[target.name] }] },
    });
    this.group = openGroup(
      {
        ...{ nodeName: name, port, members, services: this.services, upstream: this.link },
        client: { get } as unknown as OpenGroupOptions['client'],
        memory: { get: async (id) => memory.get(id), put: (id, value) => void memory.set(id, value) },
        credentials: fixedCredential({ cert: certificate, key }),
        certificate: {
          current:
            serving ?? AUTHORITY.issue({ commonName: `system:node:${name}`, organizations: NODES_GROUP }),
          onChange: () => () => {},
        },
        ...{ clientCa: AUTHORITY.ca, servingCas: [AUTHORITY.ca], timings: TIMINGS },
        ...{ clock: systemClock, metrics: new Metrics(), log: this.#log() },
      },
      this.site,
    );
    this.site.start();
    this.#running = this.group.run(this.#stop.signal);
  }

  #log(): Logger {
    const info = (fields: object): void => {
      const { node, err } = fields as { node?: string; err?: Error };
      if (err !== undefined) this.problems.push(`${node}: ${err.message}`);
    };
    return { ...silentLogger, info } as Logger;
  }

  /** Address and readiness of the endpoint in a slice, as clients of this node see it. */
  sees(slice: KubeObject): string {
    const { endpoints } = this.site.site.apply(slice) as unknown as {
      endpoints: { addresses: string[]; conditions: { ready: boolean } }[];
    };
    const [one] = endpoints;
    return one === undefined ? 'none' : `${one.addresses} ${one.conditions.ready ? 'ready' : 'not ready'}`;
  }

  /** As the kubelet of the node does, while the node is cut off. */
  report(pod: Pod): void {
    this.site.own.reported(pod);
  }

  async close(): Promise<void> {
    this.#stop.abort();
    await this.#running;
    this.site.close();
  }
}
