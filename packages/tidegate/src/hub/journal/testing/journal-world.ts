/** A journal for tests, with an API server whose responses the test sets, and the writes of a kubelet. */
import { join } from 'node:path';
import { DurableMap } from '@tidegate/disk';
import { failingDisk, temporaryDirectory } from '@tidegate/disk/testing';
import { KubeClient, type KubeObject, type Logger, Metrics, silentLogger } from '@tidegate/kube';
import { FakeServer, type ReceivedRequest, VirtualClock } from '@tidegate/kube/testing';
import { type ResourceRequest, requestInfo } from '@tidegate/serving';
import { onTestFinished } from 'vitest';
import { Journal } from '../journal.ts';
import type { WriteRequest } from '../journaled-write.ts';

export const STRATEGIC = 'application/strategic-merge-patch+json';
export const MERGE = 'application/merge-patch+json';
const PROTOBUF = 'application/vnd.kubernetes.protobuf';
export const NODE = '/api/v1/nodes/edge-1/status';
export const POD = '/api/v1/namespaces/web/pods/shop/status';
export const LEASE = '/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/edge-1';
export const EVENTS = '/api/v1/namespaces/web/events';

export const node: KubeObject = {
  apiVersion: 'v1',
  kind: 'Node',
  metadata: { name: 'edge-1', uid: 'node-uid', resourceVersion: '10' },
  status: { conditions: [{ type: 'Ready', status: 'True', lastHeartbeatTime: 't0' }], phase: 'x' },
};
export const pod: KubeObject = {
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'shop', namespace: 'web', uid: 'pod-uid' },
  spec: { nodeName: 'edge-1' },
  status: { phase: 'Pending' },
};
export const lease: KubeObject = {
  apiVersion: 'coordination.k8s.io/v1',
  kind: 'Lease',
  metadata: { name: 'edge-1', namespace: 'kube-node-lease', uid: 'lease-uid', resourceVersion: '7' },
  spec: { holderIdentity: 'edge-1', renewTime: '2026-01-01T00:00:00.000000Z' },
};

/** A journal on a real file, and an API server with responses that a test sets. */
export class World {
  readonly server = new FakeServer();
  readonly metrics = new Metrics();
  readonly clock = new VirtualClock();
  readonly logged: string[] = [];
  readonly disk = failingDisk();
  /** The response to a request; 200 with an empty object by default. */
  answer: (request: ReceivedRequest) => [code: number, body: unknown] = () => [200, {}];
  path!: string;
  client!: KubeClient;
  map!: DurableMap;
  journal!: Journal;

  static async start(maxEvents?: number): Promise<World> {
    const world = new World();
    world.path = join(await temporaryDirectory(), 'journal');
    world.server.intercept = (request, response) => {
      const [code, body] = world.answer(request);
      response.writeHead(code, { 'content-type': 'application/json' });
      response.end(JSON.stringify(body));
      return true;
    };
    world.client = new KubeClient(await world.server.start());
    await world.open(maxEvents);
    onTestFinished(async () => {
      await world.client.close();
      await world.server.stop();
      await world.map.close().catch(() => {});
    });
    return world;
  }

  async open(maxEvents?: number): Promise<void> {
    const log: Logger = { ...silentLogger, warn: (_fields, message) => void this.logged.push(message) };
    const clock = { after: () => () => {} };
    const { openOutput } = this.disk;
    this.map = await DurableMap.open(this.path, { clock, log, openOutput, refusedPuts: 'undo' });
    this.journal = await Journal.open(this.map, {
      nodeName: 'edge-1',
      // Tests send JSON, whatever the content type is.
      decode: (_contentType, body) => JSON.parse(String(body)),
      log,
      metrics: this.metrics,
      clock: this.clock,
      maxEvents,
    });
  }

  async restart(): Promise<void> {
    await this.map.close();
    await this.open();
  }

  replay() {
    return this.journal.replay(this.client, new AbortController().signal);
  }

  /** The requests that the server has received, as method and path. */
  get asked(): string[] {
    return this.server.requests.map(({ method, url }) => `${method} ${url.pathname}`);
  }

  bodyOf(index: number): Record<string, unknown> {
    return JSON.parse(this.server.requests[index]?.body ?? '');
  }

  async dropped(): Promise<string[]> {
    const text = await this.metrics.scrape();
    return text.split('\n').filter((line) => line.startsWith('tidegate_hub_journal_dropped_total{'));
  }
}

export function infoOf(method: string, path: string): ResourceRequest {
  const info = requestInfo(method, new URL(path, 'http://hub'));
  if (info.type !== 'resource') throw new Error(`${path} names no resource`);
  return info;
}

export function request(method: string, path: string, contentType: string, body: unknown): WriteRequest {
  const query = new URL(path, 'http://hub').searchParams;
  return { info: infoOf(method, path), query, contentType, body: Buffer.from(JSON.stringify(body)) };
}

export const patchNode = (status: unknown) => request('PATCH', NODE, STRATEGIC, { status });
export const patchPod = (status: unknown, uid = 'pod-uid') =>
  request('PATCH', POD, STRATEGIC, { metadata: { uid }, status });
export const renew = (renewTime: string) =>
  request('PUT', LEASE, PROTOBUF, { ...lease, spec: { ...(lease.spec as object), renewTime } });
export const event = (name: string, fields: object = {}) =>
  request('POST', EVENTS, PROTOBUF, {
    apiVersion: 'v1',
    kind: 'Event',
    metadata: { name, namespace: 'web' },
    reason: 'Started',
    count: 1,
    ...fields,
  });
export const patchEvent = (name: string, patch: unknown) =>
  request('PATCH', `${EVENTS}/${name}`, STRATEGIC, patch);
