import type { KubeObject } from '@tidegate/kube';
import { describe, expect, it } from 'vitest';
import {
  EVENTS,
  event,
  infoOf,
  LEASE,
  lease,
  MERGE,
  NODE,
  node,
  POD,
  patchEvent,
  patchNode,
  patchPod,
  pod,
  renew,
  request,
  STRATEGIC,
  World,
} from './testing/journal-world.ts';

describe('the journal accepts', () => {
  it.each([
    ['PATCH', NODE, true],
    ['PUT', NODE, true],
    ['PATCH', POD, true],
    ['PUT', LEASE, true],
    ['POST', EVENTS, true],
    ['PATCH', `${EVENTS}/a`, true],
    ['POST', '/apis/events.k8s.io/v1/namespaces/web/events', true],
    ['PATCH', '/api/v1/nodes/edge-2/status', false],
    ['PATCH', '/api/v1/nodes/edge-1', false],
    ['PUT', '/api/v1/namespaces/web/pods/shop', false],
    ['DELETE', '/api/v1/namespaces/web/pods/shop', false],
    ['PUT', '/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/edge-2', false],
    ['PUT', '/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/edge-1', false],
    ['POST', '/api/v1/namespaces/web/pods', false],
    ['DELETE', `${EVENTS}/a`, false],
  ])('%s %s: %s', async (method, path, taken) => {
    const { journal } = await World.start();
    expect(journal.takes(infoOf(method, path))).toBe(taken);
  });
});

describe('a status in the journal', () => {
  it('is returned merged, survives a restart, and is sent once with its final state', async () => {
    const world = await World.start();
    const first = await world.journal.write(
      patchNode({ conditions: [{ type: 'Ready', lastHeartbeatTime: 't1' }], phase: null }),
      node,
    );
    expect(first).toEqual({
      ...node,
      status: { conditions: [{ type: 'Ready', status: 'True', lastHeartbeatTime: 't1' }] },
    });
    await world.restart();
    const second = await world.journal.write(
      patchNode({ conditions: [{ type: 'Ready', lastHeartbeatTime: 't2' }] }),
      first,
    );
    expect(second.status).toEqual({
      conditions: [{ type: 'Ready', status: 'True', lastHeartbeatTime: 't2' }],
    });
    expect(world.journal.entries()).toEqual([
      { object: 'nodes edge-1', kind: 'status', since: '2026-01-01T00:00:00.000Z', writes: 2 },
    ]);
    expect(await world.replay()).toEqual({ sent: 1, dropped: 0 });
    expect(world.asked).toEqual([`PATCH ${NODE}`]);
    expect(world.server.requests[0]?.headers['content-type']).toBe(STRATEGIC);
    expect(world.bodyOf(0)).toEqual({
      metadata: { uid: 'node-uid' },
      status: {
        phase: null,
        conditions: [
          {
            $retainKeys: ['type', 'status', 'lastHeartbeatTime'],
            type: 'Ready',
            status: 'True',
            lastHeartbeatTime: 't2',
          },
        ],
      },
    });
    expect(world.journal.size).toBe(0);
    await world.restart();
    expect(world.journal.size).toBe(0);
  });

  it('is merged into newer state of the API server, and the patch contains nothing of that', async () => {
    const world = await World.start();
    await world.journal.write(patchPod({ phase: 'Running' }), pod);
    // The link was restored for a moment, in which another client has written.
    const newer = {
      ...pod,
      metadata: { ...pod.metadata, labels: { seen: 'yes' } },
      status: { phase: 'Pending', by: 'cloud' },
    };
    expect(await world.journal.write(patchPod({ reason: 'Up' }), newer)).toEqual({
      ...newer,
      status: { phase: 'Running', by: 'cloud', reason: 'Up' },
    });
    await world.replay();
    expect(world.bodyOf(0)).toEqual({
      metadata: { uid: 'pod-uid' },
      status: { phase: 'Running', reason: 'Up' },
    });
  });

  it('can be replaced with PUT', async () => {
    const world = await World.start();
    const body = { ...pod, spec: { nodeName: 'other' }, status: { phase: 'Failed' } };
    expect(await world.journal.write(request('PUT', POD, 'application/json', body), pod)).toEqual({
      ...pod,
      status: { phase: 'Failed' },
    });
  });

  it('is not applied to a new object with the same name', async () => {
    const world = await World.start();
    await world.journal.write(patchPod({ phase: 'Running' }), pod);
    const next = { ...pod, metadata: { ...pod.metadata, uid: 'next-uid' } };
    await expect(world.journal.write(patchPod({ phase: 'Failed' }), next)).rejects.toMatchObject({
      status: {
        code: 422,
        message: 'Pod "shop" is invalid: metadata.uid: Invalid value: "pod-uid": field is immutable',
      },
    });
    await expect(
      world.journal.write(request('PUT', POD, 'application/json', pod), next),
    ).rejects.toMatchObject({
      status: {
        code: 409,
        message:
          'Operation cannot be fulfilled on pods "shop": Precondition failed: UID in precondition: pod-uid, UID in object meta: next-uid',
      },
    });
    await world.journal.write(patchPod({ reason: 'New' }, 'next-uid'), next);
    await world.replay();
    expect(world.bodyOf(0)).toEqual({ metadata: { uid: 'next-uid' }, status: { reason: 'New' } });
  });

  it('is not stored if it changes nothing', async () => {
    const world = await World.start();
    expect(await world.journal.write(patchPod({ phase: 'Pending' }), pod)).toEqual(pod);
    expect(world.journal.size).toBe(0);
  });

  it('is rejected if the object is unknown, or if the patch cannot be stored', async () => {
    const { journal, disk } = await World.start();
    const refused = {
      status: { code: 503, reason: 'ServiceUnavailable', details: { retryAfterSeconds: 1 } },
    };
    await expect(journal.write(patchPod({}), undefined)).rejects.toMatchObject(refused);
    for (const type of ['application/json-patch+json', 'application/apply-patch+yaml'])
      await expect(journal.write(request('PATCH', POD, type, []), pod)).rejects.toMatchObject(refused);
    const dryRun = request('PATCH', `${POD}?dryRun=All`, STRATEGIC, { status: { phase: 'Failed' } });
    await expect(journal.write(dryRun, pod)).rejects.toMatchObject(refused);
    const broken = { ...patchPod({}), body: Buffer.from('{') };
    await expect(journal.write(broken, pod)).rejects.toMatchObject({ status: { code: 400 } });
    expect(journal.size).toBe(0);
    disk.refused.set('write', 'EIO');
    await expect(journal.write(patchPod({ phase: 'Failed' }), pod)).rejects.toMatchObject(refused);
  });

  it('that the disk refuses are never sent, and earlier ones are', async () => {
    const world = await World.start();
    const { journal, disk } = world;
    await journal.write(patchPod({ phase: 'Running' }), pod);
    disk.refused.set('write', 'ENOSPC');
    const refused = {
      status: {
        code: 507,
        reason: 'InsufficientStorage',
        message: expect.stringMatching(
          /^the API server is unreachable, and the hub cannot store the write until then: no space left on the file system of .*: free some space and try again$/,
        ),
      },
    };
    await expect(journal.write(patchPod({ phase: 'Failed' }), pod)).rejects.toMatchObject(refused);
    await expect(journal.write(renew('2026-01-01T00:00:10.000000Z'), lease)).rejects.toMatchObject(refused);
    expect(journal.entries()).toMatchObject([{ object: 'pods web/shop', writes: 1 }]);
    disk.refused.clear();
    expect(await world.replay()).toEqual({ sent: 1, dropped: 0 });
    expect(world.bodyOf(0)).toMatchObject({ status: { phase: 'Running' } });
    expect(journal.size).toBe(0);
  });
});

describe('a lease in the journal', () => {
  it('is sent with its last renewal and the resourceVersion of the server', async () => {
    const world = await World.start();
    await world.journal.write(renew('2026-01-01T00:00:10.000000Z'), lease);
    const answer = await world.journal.write(renew('2026-01-01T00:00:20.000000Z'), lease);
    expect(answer.spec).toEqual({ holderIdentity: 'edge-1', renewTime: '2026-01-01T00:00:20.000000Z' });
    world.answer = ({ method }) => [200, method === 'GET' ? lease : {}];
    expect(await world.replay()).toEqual({ sent: 1, dropped: 0 });
    expect(world.asked).toEqual([`GET ${LEASE}`, `PATCH ${LEASE}`]);
    expect(world.bodyOf(1)).toEqual({
      metadata: { uid: 'lease-uid', resourceVersion: '7' },
      spec: { renewTime: '2026-01-01T00:00:20.000000Z' },
    });
  });

  it('is not sent if the server has a newer renewal', async () => {
    const world = await World.start();
    await world.journal.write(renew('2026-01-01T00:00:10.000000Z'), lease);
    const newer = { ...lease, spec: { renewTime: '2026-01-01T00:00:11.000000Z' } };
    world.answer = () => [200, newer];
    expect(await world.replay()).toEqual({ sent: 1, dropped: 0 });
    expect(world.asked).toEqual([`GET ${LEASE}`]);
  });

  it('is dropped if the lease was created again', async () => {
    const world = await World.start();
    await world.journal.write(renew('2026-01-01T00:00:10.000000Z'), lease);
    world.answer = () => [200, { ...lease, metadata: { ...lease.metadata, uid: 'other' } }];
    expect(await world.replay()).toEqual({ sent: 0, dropped: 1 });
    expect(await world.dropped()).toEqual(['tidegate_hub_journal_dropped_total{reason="replaced"} 1']);
  });
});

describe('events in the journal', () => {
  it('are returned as the server would return them, and sent in order', async () => {
    const world = await World.start();
    const made = await world.journal.write(event('a'), undefined);
    expect(made).toMatchObject({
      metadata: {
        name: 'a',
        namespace: 'web',
        uid: expect.stringMatching(/^[0-9a-f-]{36}$/),
        creationTimestamp: '2026-01-01T00:00:00Z',
      },
      reason: 'Started',
    });
    await world.journal.write(event('b'), undefined);
    const counted = await world.journal.write(patchEvent('a', { count: 2 }), undefined);
    expect(counted).toEqual({ ...made, count: 2 });
    await expect(world.journal.write(event('a'), undefined)).rejects.toMatchObject({
      status: { code: 409, reason: 'AlreadyExists', message: 'events "a" already exists' },
    });
    await world.restart();
    await world.journal.write(patchPod({ phase: 'Running' }), pod);
    await world.journal.write(event('c'), undefined);

    expect(await world.replay()).toEqual({ sent: 4, dropped: 0 });
    expect(world.asked).toEqual([`PATCH ${POD}`, ...Array(3).fill(`POST ${EVENTS}`)]);
    expect(world.bodyOf(1)).toEqual({
      apiVersion: 'v1',
      kind: 'Event',
      metadata: { name: 'a', namespace: 'web' },
      reason: 'Started',
      count: 2,
    });
    expect([2, 3].map((index) => world.bodyOf(index).metadata)).toMatchObject([{ name: 'b' }, { name: 'c' }]);
  });

  it('are patched if the server has them already', async () => {
    const world = await World.start();
    const answer = await world.journal.write(patchEvent('old', { count: 5 }), undefined);
    expect(answer).toEqual({
      apiVersion: 'v1',
      kind: 'Event',
      metadata: { name: 'old', namespace: 'web' },
      count: 5,
    });
    await world.journal.write(patchEvent('old', { count: 6 }), undefined);
    expect(await world.replay()).toEqual({ sent: 1, dropped: 0 });
    expect(world.asked).toEqual([`PATCH ${EVENTS}/old`]);
    expect(world.server.requests[0]?.headers['content-type']).toBe(MERGE);
    expect(world.bodyOf(0)).toEqual({ count: 6 });
  });

  it('are not an error if only the response of an earlier attempt was lost', async () => {
    const world = await World.start();
    await world.journal.write(event('a'), undefined);
    world.answer = () => [409, status(409, 'AlreadyExists')];
    expect(await world.replay()).toEqual({ sent: 1, dropped: 0 });
  });

  it('get a generated name', async () => {
    const world = await World.start();
    const made = await world.journal.write(event('', { metadata: { generateName: 'shop-' } }), undefined);
    expect(made.metadata.name).toMatch(/^shop-[a-z0-9]{5}$/);
    await expect(world.journal.write(event('', { metadata: {} }), undefined)).rejects.toMatchObject({
      status: { code: 400 },
    });
  });

  it('are dropped beyond the limit, oldest first, with a metric and one log message', async () => {
    const world = await World.start(3);
    for (const name of ['a', 'b', 'c', 'd', 'e']) await world.journal.write(event(name), undefined);
    expect(world.journal.entries().map(({ object }) => object)).toEqual(
      ['c', 'd', 'e'].map((name) => `events web/${name}`),
    );
    expect(await world.dropped()).toEqual(['tidegate_hub_journal_dropped_total{reason="full"} 2']);
    expect(world.logged).toEqual(['too many events wait to be sent to an API server; dropping the oldest']);
  });

  it('are dropped from the namespace with the most', async () => {
    const world = await World.start(4);
    const path = '/api/v1/namespaces/quiet/events';
    const metadata = { name: 'first', namespace: 'quiet' };
    const quiet = request('POST', path, 'application/json', { apiVersion: 'v1', kind: 'Event', metadata });
    await world.journal.write(quiet, undefined);
    for (const name of ['a', 'b', 'c', 'd', 'e']) await world.journal.write(event(name), undefined);
    expect(world.journal.entries().map(({ object }) => object)).toEqual([
      'events quiet/first',
      ...['c', 'd', 'e'].map((name) => `events web/${name}`),
    ]);
  });
});

const status = (code: number, reason: string) => ({ kind: 'Status', status: 'Failure', code, reason });

describe('a replay', () => {
  async function threeEntries(): Promise<World> {
    const world = await World.start();
    await world.journal.write(patchPod({ phase: 'Running' }), pod);
    await world.journal.write(event('a'), undefined);
    await world.journal.write(event('b'), undefined);
    return world;
  }

  it.each([500, 503, 429, 401])('stops at %i, and continues there the next time', async (code) => {
    const world = await threeEntries();
    world.answer = ({ body }) => (body.includes('"name":"a"') ? [code, status(code, '')] : [200, {}]);
    await expect(world.replay()).rejects.toMatchObject({ code });
    expect(world.journal.entries().map(({ object }) => object)).toEqual(['events web/a', 'events web/b']);
    await world.restart();
    world.answer = () => [200, {}];
    expect(await world.replay()).toEqual({ sent: 2, dropped: 0 });
  });

  it('keeps all entries if the server is unreachable', async () => {
    const world = await threeEntries();
    await world.server.stop();
    await expect(world.replay()).rejects.toMatchObject({ name: 'ConnectionError' });
    expect(world.journal.size).toBe(3);
  });

  it('drops and logs entries whose object is gone or that are rejected', async () => {
    const world = await threeEntries();
    world.answer = ({ method }) =>
      method === 'PATCH' ? [404, status(404, 'NotFound')] : [422, status(422, 'Invalid')];
    expect(await world.replay()).toEqual({ sent: 0, dropped: 3 });
    expect(world.logged).toEqual(
      Array(3).fill('dropped a write that was made while no API server was reachable'),
    );
    expect(await world.dropped()).toEqual([
      'tidegate_hub_journal_dropped_total{reason="gone"} 1',
      'tidegate_hub_journal_dropped_total{reason="refused"} 2',
    ]);
    expect(world.journal.size).toBe(0);
  });

  it('keeps a write that is forbidden for a moment, sends the others, and drops it after ten minutes', async () => {
    const world = await World.start();
    const { journal } = world;
    await journal.write(patchPod({ phase: 'Running' }), pod);
    await journal.write(patchNode({ phase: 'Running' }), node);
    await journal.write(event('first'), undefined);
    let isForbidden = true;
    world.answer = ({ url }) =>
      isForbidden && !url.pathname.includes('/nodes/') ? [403, status(403, 'Forbidden')] : [200, {}];
    await expect(world.replay()).rejects.toThrow(
      'the API server forbids 2 writes, for example to pods web/shop',
    );
    expect(world.journal.entries().map(({ object }) => object)).toEqual([
      'pods web/shop',
      'events web/first',
    ]);
    await world.clock.advance(9 * 60_000);
    await expect(world.replay()).rejects.toThrow('forbids 2 writes');
    isForbidden = false;
    expect(await world.replay()).toEqual({ sent: 2, dropped: 0 });
    isForbidden = true;
    await journal.write(patchPod({ phase: 'Failed' }), pod);
    await expect(world.replay()).rejects.toThrow('forbids 1 writes');
    await world.clock.advance(10 * 60_000);
    expect(await world.replay()).toEqual({ sent: 0, dropped: 1 });
    expect(await world.dropped()).toEqual(['tidegate_hub_journal_dropped_total{reason="forbidden"} 1']);
  });

  it('drops the status of a replaced object, but not of one with a write conflict', async () => {
    const world = await World.start();
    await world.journal.write(patchPod({ phase: 'Running' }), pod);
    let uid = 'pod-uid';
    world.answer = ({ method }) =>
      method === 'PATCH' ? [409, status(409, 'Conflict')] : [200, { ...pod, metadata: { uid } }];
    await expect(world.replay()).rejects.toThrow('other clients are writing to "shop" at the same time');
    expect(world.journal.size).toBe(1);
    uid = 'other';
    expect(await world.replay()).toEqual({ sent: 0, dropped: 1 });
    expect(await world.dropped()).toEqual(['tidegate_hub_journal_dropped_total{reason="replaced"} 1']);
  });

  it('keeps and sends writes that arrive in the meantime', async () => {
    const world = await World.start();
    await world.journal.write(patchPod({ phase: 'Running' }), pod);
    await world.journal.write(event('a'), undefined);
    const late = new Map<string, () => Promise<KubeObject>>([
      [`PATCH ${POD}`, () => world.journal.write(patchPod({ phase: 'Failed' }), pod)],
      [`POST ${EVENTS}`, () => world.journal.write(patchEvent('a', { count: 2 }), undefined)],
    ]);
    const writes: Promise<KubeObject>[] = [];
    world.server.intercept = ({ method, url }, response) => {
      const key = `${method} ${url.pathname}`;
      const write = late.get(key);
      late.delete(key);
      const written = write === undefined ? Promise.resolve(pod) : write();
      writes.push(written);
      void written.then(() => response.writeHead(200, { 'content-type': 'application/json' }).end('{}'));
      return true;
    };
    expect(world.journal.holds(infoOf('PATCH', POD))).toBe(true);
    expect(await world.replay()).toEqual({ sent: 4, dropped: 0 });
    await Promise.all(writes);
    expect(world.asked).toEqual([`PATCH ${POD}`, `PATCH ${POD}`, `POST ${EVENTS}`, `PATCH ${EVENTS}/a`]);
    expect(world.bodyOf(1)).toMatchObject({ status: { phase: 'Failed' } });
    expect(world.bodyOf(3)).toEqual({ count: 2 });
    expect(world.journal.holds(infoOf('PATCH', POD))).toBe(false);
  });
});
