import {
  type ConnectionState,
  ENDPOINT_SLICES,
  ENDPOINTS,
  isOlderVersion,
  type KubeObject,
  PODS,
  type Pod,
  type Resource,
} from '@tidegate/kube';
import { VirtualClock } from '@tidegate/kube/testing';
import { beforeEach, expect, test } from 'vitest';
import type { Chain } from '../filters/filter.ts';
import { EVERYTHING, type ProjectionEvent, Projections } from '../projections/index.ts';
import { FakeView } from '../views/testing.ts';
import { type OpenedSite, type OtherNodes, openSite } from './open.ts';

const NO_FILTERS: Chain = { id: '', filters: [], apply: (object) => object, dependsOn: () => [] };
const labels = {
  'kubernetes.io/service-name': 'web',
  'endpointslice.kubernetes.io/managed-by': 'endpointslice-controller.k8s.io',
};

const pod = (version: number, ip: string, ready: boolean, more: Partial<Pod> = {}): Pod =>
  ({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'a', namespace: 'shop', uid: 'uid-a', resourceVersion: `${version}`, ...more.metadata },
    status: {
      phase: 'Running',
      podIP: ip,
      podIPs: [{ ip }],
      conditions: [{ type: 'Ready', status: ready ? 'True' : 'False' }],
      ...more.status,
    },
  }) as Pod;

const slice = (version: number, ip: string, ready = true, more: object = {}): KubeObject =>
  ({
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: { name: 'web-1', namespace: 'shop', resourceVersion: `${version}`, labels, ...more },
    addressType: 'IPv4',
    endpoints: [
      {
        addresses: [ip],
        conditions: { ready, serving: ready, terminating: false },
        nodeName: 'edge',
        targetRef: { kind: 'Pod', namespace: 'shop', name: 'a', uid: 'uid-a' },
      },
    ],
  }) as KubeObject;

const service = (spec: object): KubeObject => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name: 'web', namespace: 'shop', resourceVersion: '2' },
  spec,
});

class Link implements ConnectionState {
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

let clock: VirtualClock;
let link: Link;
let pods: FakeView;
let slices: FakeView;
let services: FakeView;
let opened: OpenedSite;
let projections: Projections;
let waiting: boolean;
let others: OtherNodes;

beforeEach(() => {
  clock = new VirtualClock();
  link = new Link();
  waiting = false;
  others = { inForce: () => false, isMember: () => false, reportsOf: () => undefined };
  pods = new FakeView('10', PODS, 'Pod');
  slices = new FakeView('20', ENDPOINT_SLICES, 'EndpointSlice', 'shared');
  services = new FakeView('2');
  services.put(service({ selector: { app: 'web' } }));
  pods.put(pod(10, '10.0.0.1', true));
  slices.put(slice(20, '10.0.0.1'));
  opened = openSite({
    nodeName: 'edge',
    views: { private: () => ({ view: pods, release: () => {} }) },
    services,
    upstream: link,
    isWaiting: () => waiting,
    others,
    onReports: () => {},
    onForce: () => {},
    clock,
  });
  projections = new Projections({
    clock,
    random: () => 0,
    context: { subscribe: () => () => {} },
    causes: [],
    correction: opened.site,
    onFault: (_key, error) => {
      throw error;
    },
  });
  opened.start();
});

/** A client of the node. `seen` has what it sees of the endpoint: address and whether it is ready. */
function watch(view = slices) {
  const hold = projections.hold(view, () => NO_FILTERS, EVERYTHING);
  const seen: string[] = [];
  const versions: string[] = [];
  const take = (bytes: Buffer, version: string): void => {
    const [one] = JSON.parse(bytes.toString()).endpoints;
    seen.push(
      one === undefined ? 'none' : `${one.addresses} ${one.conditions.ready ? 'ready' : 'not ready'}`,
    );
    versions.push(version);
  };
  for (const { bytes, resourceVersion } of hold.projection.items()) take(bytes, resourceVersion);
  hold.subscribe({
    changed: (events: readonly ProjectionEvent[]) => {
      for (const { item } of events) take(item.bytes, item.resourceVersion);
    },
    ended: () => {},
  });
  return { hold, seen, versions };
}

test('with a link, endpoints are those of the API server', () => {
  const client = watch();
  opened.own.reported(pod(10, '10.0.0.7', true));
  pods.put(pod(11, '10.0.0.7', false));
  expect(client.seen).toEqual(['10.0.0.1 ready']);
  expect(opened.site.corrects(ENDPOINT_SLICES)).toBe(false);
});

test('without a link, endpoints follow the reports of the kubelet at once, with increasing versions', () => {
  const client = watch();
  link.set(false);
  opened.own.reported(pod(10, '', false));
  opened.own.reported(pod(10, '10.0.0.7', false));
  opened.own.reported(pod(10, '10.0.0.7', true));
  expect(client.seen).toEqual(['10.0.0.1 ready', 'none', '10.0.0.7 not ready', '10.0.0.7 ready']);
  for (const [i, version] of client.versions.slice(1).entries())
    expect(isOlderVersion(client.versions[i], version)).toBe(true);
  expect(watch().seen).toEqual(['10.0.0.7 ready']);
  expect(projections.get(slices, NO_FILTERS, 'shop/web-1')?.bytes.toString()).toContain('10.0.0.7');
});

test('a client that connects after the report does not get it under the version of the API server', () => {
  link.set(false);
  opened.own.reported(pod(10, '10.0.0.7', true));
  const { seen, versions } = watch();
  expect(seen).toEqual(['10.0.0.7 ready']);
  expect(isOlderVersion('20', versions[0])).toBe(true);
});

test('shows a pod that is deleted, has finished, or was replaced under the same name', () => {
  const client = watch();
  link.set(false);
  const deletionTimestamp = '2026-01-01T00:00:00Z';
  pods.put(pod(11, '10.0.0.1', true, { metadata: { deletionTimestamp } }));
  opened.own.reported(pod(11, '10.0.0.1', true, { status: { phase: 'Failed' } }));
  expect(client.seen).toEqual(['10.0.0.1 ready', '10.0.0.1 not ready', 'none']);
  pods.put(pod(12, '10.0.0.9', true, { metadata: { uid: 'uid-b' } }));
  pods.delete('shop/a', '13');
  expect(watch().seen).toEqual(['none']);
});

test('hands back without an event when the API server has caught up', async () => {
  const client = watch();
  link.set(false);
  opened.own.reported(pod(10, '10.0.0.7', true));
  link.set(true);
  // What the API server thinks of the pod until the journal arrives.
  pods.put(pod(30, '10.0.0.1', false));
  slices.put(slice(31, '10.0.0.1', false));
  slices.put(slice(33, '10.0.0.7'));
  await clock.advance(30_000);
  expect(opened.site.corrects(ENDPOINT_SLICES)).toBe(false);
  expect(new Set(client.seen.slice(1))).toEqual(new Set(['10.0.0.7 ready']));
  slices.put(slice(40, '10.0.0.7', false));
  expect(client.seen.at(-1)).toBe('10.0.0.7 not ready');
});

test('reports count for as long as one of them waits for the API server', async () => {
  const client = watch();
  waiting = true;
  link.set(false);
  opened.own.reported(pod(10, '10.0.0.7', true));
  link.set(true);
  await clock.advance(30_000);
  expect(client.seen.at(-1)).toBe('10.0.0.7 ready');
  waiting = false;
  await clock.advance(30_000);
  expect(client.seen.at(-1)).toBe('10.0.0.1 ready');
});

test('reports that waited when the hub stopped count after its restart', () => {
  opened.close();
  waiting = true;
  pods.put(pod(10, '10.0.0.7', true));
  opened = openSite({
    nodeName: 'edge',
    views: { private: () => ({ view: pods, release: () => {} }) },
    services,
    upstream: link,
    isWaiting: () => waiting,
    others,
    onReports: () => {},
    onForce: () => {},
    clock,
  });
  opened.start();
  expect(opened.site.apply(slice(20, '10.0.0.1'))).toEqual(slice(20, '10.0.0.7'));
});

test.each([
  ['a Service without a selector', service({}), slice(20, '10.0.0.1')],
  [
    'slices of another controller',
    service({ selector: { app: 'web' } }),
    slice(20, '10.0.0.1', true, { labels: { ...labels, 'endpointslice.kubernetes.io/managed-by': 'mine' } }),
  ],
])('leaves endpoints of %s alone', (_what, of, heard) => {
  services.put(of);
  link.set(false);
  opened.own.reported(pod(10, '10.0.0.7', true));
  expect(opened.site.apply(heard)).toBe(heard);
});

test('applies to EndpointSlices and Endpoints of all versions, and to nothing else', () => {
  const applies = (resource: Resource): boolean => opened.site.appliesTo(resource);
  expect(applies(ENDPOINT_SLICES)).toBe(true);
  expect(applies({ ...ENDPOINT_SLICES, version: 'v1beta1' })).toBe(true);
  expect(applies(ENDPOINTS)).toBe(true);
  expect(applies(PODS)).toBe(false);
  expect(applies({ ...ENDPOINTS, group: 'example.com' })).toBe(false);
});
