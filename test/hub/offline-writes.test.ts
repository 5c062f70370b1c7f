/** Every write verb offline, for the node and for other clients: stored and sent later, or rejected. */

import {
  CONFIG_MAPS,
  type KubeClient,
  type KubeObject,
  NODES,
  PODS,
  type Pod,
  type Resource,
  SERVICE_ACCOUNTS,
} from '@tidegate/kube';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { administratorToken } from '../support/accounts.ts';
import { Edge, NODE } from '../support/edge.ts';
import { configMap, goOffline, goOnline, pod, podNames, soon } from '../support/edge-objects.ts';
import { type Said, say, Watching } from '../support/wire.ts';

const LEASES: Resource = {
  group: 'coordination.k8s.io',
  version: 'v1',
  resource: 'leases',
  namespaced: true,
};
const EVENTS: Resource = { group: '', version: 'v1', resource: 'events', namespaced: true };
const LEASE = { namespace: 'kube-node-lease', name: NODE };
const POD = { namespace: 'default', name: 'p' };

let edge: Edge;
let node: KubeClient;
let bearerToken: string;
let rootToken: string;

beforeAll(async () => {
  edge = await Edge.start();
  node = edge.node();
  await node.create(NODES, { apiVersion: 'v1', kind: 'Node', metadata: { name: NODE } });
  await node.create(LEASES, lease('2026-01-01T00:00:00.000000Z'));
  await edge.admin.create(CONFIG_MAPS, configMap('c', { k: 'v' }));
  await edge.admin.create(PODS, pod('p', { serviceAccountName: 'default' }));
  await soon(async () => expect(await podNames(node)).toEqual(['p']));
  await node.get(NODES, { name: NODE });
  await node.get(LEASES, LEASE);
  await edge.allowReading('app', [{ group: '', resource: 'configmaps' }]);
  bearerToken = await edge.token('app');
  rootToken = await administratorToken(edge.admin);
  await edge.bearer(bearerToken).list(CONFIG_MAPS, { namespace: 'default' });
});
afterAll(() => edge.stop());

const lease = (renewTime: string): KubeObject => ({
  apiVersion: 'coordination.k8s.io/v1',
  kind: 'Lease',
  metadata: LEASE,
  spec: { holderIdentity: NODE, leaseDurationSeconds: 40, renewTime },
});
const event = (name: string, message = ''): KubeObject => ({
  apiVersion: 'v1',
  kind: 'Event',
  metadata: { name, namespace: 'default' },
  involvedObject: { kind: 'Pod', name: 'p', namespace: 'default' },
  reason: 'Test',
  message,
  type: 'Normal',
});
const condition = (message: string) => ({
  status: { conditions: [{ type: 'Ready', status: 'True', reason: 'Test', message }] },
});
const readyMessage = (object: KubeObject): unknown => {
  const { conditions = [] } = (object.status ?? {}) as { conditions?: { type: string; message: string }[] };
  return conditions.find(({ type }) => type === 'Ready')?.message;
};
const sayAs = async (
  client: 'node' | 'app',
  method: string,
  path: string,
  body?: unknown,
  type?: string,
): Promise<Said> =>
  say(client === 'node' ? edge.asNode : edge.asBearer(bearerToken), path, {
    method,
    ...(body === undefined ? {} : { body }),
    ...(type === undefined ? {} : { headers: { 'content-type': type } }),
  });
const MERGE = 'application/merge-patch+json';
const tokenRequest = (audience: string) => ({
  apiVersion: 'authentication.k8s.io/v1',
  kind: 'TokenRequest',
  metadata: { name: 'default', namespace: 'default' },
  spec: {
    audiences: [audience],
    boundObjectRef: { kind: 'Pod', apiVersion: 'v1', name: 'p', uid: '' },
  },
});

describe('offline', () => {
  let watch: Watching;
  let issued: unknown;

  beforeAll(async () => {
    const { metadata } = await edge.admin.get(PODS, POD);
    const request = tokenRequest('api');
    request.spec.boundObjectRef.uid = metadata.uid ?? '';
    issued = (await node.create(SERVICE_ACCOUNTS, request, { subresource: 'token' })) as unknown;
    const list = await node.list(PODS, { fieldSelector: `spec.nodeName=${NODE}` });
    watch = await Watching.open(
      edge.asNode,
      `/api/v1/pods?fieldSelector=spec.nodeName%3D${NODE}&watch=1&resourceVersion=${list.metadata.resourceVersion}`,
    );
    await goOffline(edge);
  });

  it('a write that needs the API server is rejected with 503 and Retry-After, for the node and for others', async () => {
    const pods = '/api/v1/namespaces/default/pods';
    const maps = '/api/v1/namespaces/default/configmaps';
    const refused: [client: 'node' | 'app', method: string, path: string, body?: unknown, type?: string][] = [
      ['node', 'POST', pods, pod('static')],
      ['node', 'DELETE', `${pods}/p`],
      ['node', 'DELETE', pods],
      ['node', 'PUT', `${pods}/p`, pod('p')],
      ['node', 'PATCH', `${pods}/p`, { metadata: { labels: { a: 'b' } } }, MERGE],
      ['node', 'PATCH', `/api/v1/nodes/${NODE}`, { metadata: { labels: { a: 'b' } } }, MERGE],
      ['node', 'PATCH', '/api/v1/nodes/other/status', condition('x'), MERGE],
      ['node', 'POST', `${pods}/p/eviction`, { apiVersion: 'policy/v1', kind: 'Eviction', metadata: POD }],
      ['node', 'POST', '/apis/certificates.k8s.io/v1/certificatesigningrequests', {}],
      ['app', 'POST', maps, configMap('new', {})],
      ['app', 'PUT', `${maps}/c`, configMap('c', {})],
      ['app', 'PATCH', `${maps}/c`, { data: {} }, MERGE],
      ['app', 'DELETE', `${maps}/c`],
      ['app', 'POST', '/api/v1/namespaces/default/events', event('mine')],
      ['app', 'PATCH', `/api/v1/nodes/${NODE}/status`, condition('not mine'), MERGE],
      ['app', 'PUT', `/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/${NODE}`, lease('x')],
      ['app', 'POST', '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews', {}],
      ['app', 'POST', '/api/v1/namespaces/default/serviceaccounts/default/token', tokenRequest('api')],
      ['node', 'GET', `${pods}/p/log`],
    ];
    for (const request of refused) {
      const [client, method, path] = request;
      const said = await sayAs(...request);
      expect([client, method, path, said.status]).toEqual([client, method, path, 503]);
      expect(said.headers['retry-after']).toBe('1');
      expect(said.json()).toMatchObject({
        kind: 'Status',
        status: 'Failure',
        reason: 'ServiceUnavailable',
        message: expect.stringContaining('the API server is unreachable'),
        details: { retryAfterSeconds: 1 },
      });
    }
    expect(
      (await say(edge.http, '/api/v1/namespaces/default/events', { method: 'POST', body: event('x') }))
        .status,
    ).toBe(401);
  });

  it('a Node that exists is not created again', async () => {
    const said = await sayAs('node', 'POST', '/api/v1/nodes', {
      apiVersion: 'v1',
      kind: 'Node',
      metadata: { name: NODE },
    });
    expect(said.json()).toMatchObject({ code: 409, reason: 'AlreadyExists' });
  });

  it('a status is accepted, is visible at once to gets, lists and watches, and the last one wins', async () => {
    const target = { ...POD, subresource: 'status' };
    for (const message of ['one', 'two', 'three']) {
      const answer = await node.patch(PODS, target, 'strategic', condition(message));
      expect(readyMessage(answer)).toBe(message);
      expect(readyMessage(await node.get(PODS, POD))).toBe(message);
    }
    const [listed] = (await node.list(PODS, { fieldSelector: `spec.nodeName=${NODE}` })).items;
    expect(readyMessage(listed!)).toBe('three');
    await soon(() => expect(watch.frames.map(({ object }) => readyMessage(object)).at(-1)).toBe('three'));
    expect(watch.frames.every(({ type }) => type === 'MODIFIED')).toBe(true);
    const before = await node.get(NODES, { name: NODE });
    const updated = await node.update(NODES, { ...before, ...condition('put') } as never, {
      subresource: 'status',
    });
    expect(readyMessage(updated)).toBe('put');
    expect(readyMessage(await node.get(NODES, { name: NODE }))).toBe('put');
  });

  it('the lease of the node is renewed', async () => {
    const before = await node.get(LEASES, LEASE);
    const renewed = { ...before, spec: lease('2026-01-02T00:00:00.000000Z').spec };
    expect(await node.update(LEASES, renewed)).toMatchObject({ spec: renewed.spec });
    expect(await node.get(LEASES, LEASE)).toMatchObject({ spec: renewed.spec });
  });

  it('events are accepted and updated', async () => {
    for (const name of ['e1', 'e2', 'e3'])
      expect((await node.create(EVENTS, event(name, name))).metadata.name).toBe(name);
    expect(
      await node.patch(EVENTS, { namespace: 'default', name: 'e2' }, 'strategic', { count: 2 }),
    ).toMatchObject({
      count: 2,
      message: 'e2',
    });
    await expect(node.create(EVENTS, event('e1'))).rejects.toMatchObject({ reason: 'AlreadyExists' });
  });

  it('the token of a pod is returned again, but no token that was never issued', async () => {
    const { metadata } = await edge.admin.get(PODS, POD);
    const again = async (audience: string): Promise<Said> => {
      const request = tokenRequest(audience);
      request.spec.boundObjectRef.uid = metadata.uid ?? '';
      return sayAs('node', 'POST', '/api/v1/namespaces/default/serviceaccounts/default/token', request);
    };
    const said = await again('api');
    expect(said.status).toBe(201);
    const { status } = issued as { status: { token: string } };
    expect(said.json()).toMatchObject({ kind: 'TokenRequest', status: { token: status.token } });
    expect((await again('other')).status).toBe(503);
  });

  it('everything survives a kill of the hub', async () => {
    const said = await say(edge.adminSocket, '/v1/journal');
    const before = said.json<unknown[]>();
    expect(before.length).toBeGreaterThanOrEqual(6);
    await edge.killHub();
    expect((await say(edge.adminSocket, '/v1/journal')).json()).toEqual(before);
    expect(readyMessage(await node.get(PODS, POD))).toBe('three');
    expect(await podNames(node)).toEqual(['p']);
  });

  it('everything arrives in order when the link is restored', async () => {
    // In the meantime, another client has written to other fields.
    await edge.admin.patch(NODES, { name: NODE }, 'merge', { metadata: { labels: { by: 'admin' } } });
    const order: string[] = [];
    await goOnline(edge);
    await soon(async () => {
      expect(readyMessage(await edge.admin.get(PODS, POD))).toBe('three');
      const there = await edge.admin.get(NODES, { name: NODE });
      expect([readyMessage(there), there.metadata.labels?.by]).toEqual(['put', 'admin']);
      expect(await edge.admin.get(LEASES, LEASE)).toMatchObject({
        spec: { renewTime: '2026-01-02T00:00:00.000000Z' },
      });
      const { items } = await edge.admin.list(EVENTS, { namespace: 'default' });
      const ours = items
        .filter(({ reason }) => reason === 'Test')
        .sort((a, b) => Number(a.metadata.resourceVersion) - Number(b.metadata.resourceVersion));
      order.splice(0, order.length, ...ours.map(({ metadata }) => metadata.name ?? ''));
      expect(order).toEqual(['e1', 'e2', 'e3']);
      expect(ours[1]).toMatchObject({ count: 2 });
    });
    expect((await say(edge.adminSocket, '/v1/journal')).json()).toEqual([]);
    // Afterwards, the node reads what the API server has.
    await soon(async () => expect(await node.get(PODS, POD)).toEqual(await edge.admin.get(PODS, POD)));
  });
});

it('a write to a pod that was deleted in the meantime is dropped, and does not block others', async () => {
  await edge.admin.create(PODS, pod('gone'));
  await soon(async () => expect(await podNames(node)).toEqual(['gone', 'p']));
  await goOffline(edge);
  const running = { status: { phase: 'Running' } };
  await node.patch(PODS, { namespace: 'default', name: 'gone', subresource: 'status' }, 'strategic', running);
  await node.patch(PODS, { ...POD, subresource: 'status' }, 'strategic', running);
  await edge.admin.delete(PODS, { namespace: 'default', name: 'gone' }, { gracePeriodSeconds: 0 });
  await goOnline(edge);
  await soon(async () => {
    expect(((await edge.admin.get(PODS, POD)) as Pod).status?.phase).toBe('Running');
    expect(await podNames(node)).toEqual(['p']);
  });
  const metrics = (await say(edge.administration, '/metrics')).text;
  expect(metrics).toMatch(/journal_dropped_total\{reason="(gone|replaced)"\} 1/);
});

it('a get of a Node that the hub has never seen returns 503', async () => {
  await goOffline(edge);
  const said = await sayAs('node', 'GET', '/api/v1/nodes/other');
  expect(said.json()).toMatchObject({
    code: 503,
    message: expect.stringContaining('this client has never read nodes "other"'),
  });
  await goOnline(edge);
});

it.each(['PartialObjectMetadata', 'Table'])(
  'the response to a write as %s does not become a copy',
  async (as) => {
    const path = '/api/v1/namespaces/default/configmaps/c';
    expect((await say(edge.asBearer(rootToken), path)).json()).toMatchObject({ data: { k: 'v' } });
    const headers = {
      accept: `application/json;as=${as};v=v1;g=meta.k8s.io`,
      'content-type': 'application/merge-patch+json',
    };
    const body = { metadata: { labels: { as } } };
    const written = await say(edge.asBearer(rootToken), path, { method: 'PATCH', headers, body });
    expect(written.json()).toMatchObject({ kind: as });
    await goOffline(edge);
    // The hub no longer knows the object. Anything else would be a ConfigMap without its data, or without the label.
    expect((await say(edge.asBearer(rootToken), path)).status).toBe(503);
    await goOnline(edge);
  },
);
