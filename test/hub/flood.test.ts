/** Local clients that open many connections. The kubelet and other clients must get through. */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { CONFIG_MAPS, NAMESPACES } from '@tidegate/kube';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { Edge } from '../support/edge.ts';
import { configMap, soon, unlessThere } from '../support/edge-objects.ts';
import { say, Watching, type Way } from '../support/wire.ts';

const MAPS = '/api/v1/namespaces/default/configmaps';
const NODE_OBJECT = '/api/v1/nodes/edge-1';
const PER_PEER = 40;
const PER_TENANT = 20;
let edge: Edge;
const flood: Socket[] = [];

beforeAll(async () => {
  edge = await Edge.start({
    front: true,
    connectionLimits: { perPeer: PER_PEER, perTenant: PER_TENANT, total: 100 },
  });
  await edge.admin
    .create(NAMESPACES, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'greedy' } })
    .catch(unlessThere);
  await edge.admin.create(CONFIG_MAPS, configMap('shown', { a: 'b' }));
});
afterEach(() => {
  for (const socket of flood.splice(0)) socket.destroy();
});
afterAll(() => edge.stop());

/** Connections that send nothing. */
async function openMany(port: number, count: number): Promise<Socket[]> {
  // A connection that the hub closes may be reset at any time, also before it is established.
  const sockets = Array.from({ length: count }, () => connect(port, '127.0.0.1').on('error', () => {}));
  flood.push(...sockets);
  await Promise.all(sockets.map((socket) => once(socket, 'connect').catch(() => {})));
  for (const socket of sockets) socket.resume();
  return sockets;
}

async function reader(account: string, namespace = 'default'): Promise<string> {
  await edge.allowReading(account, [{ group: '', resource: 'configmaps' }], namespace);
  return edge.token(account, namespace);
}

const statusOf = async (way: Way, path: string): Promise<number> => (await say(way, path)).status;
/** The socket shows metrics also while the ports are busy. */
const metric = async (name: string): Promise<number> => {
  const { text } = await say(edge.adminSocket, '/metrics');
  return Number(new RegExp(`^${name} (\\d+)$`, 'm').exec(text)?.[1] ?? 0);
};

describe('a local client that opens many connections', () => {
  it('keeps neither the kubelet nor authenticated clients from the hub, and loses its own', async () => {
    const token = await reader('patient');
    const watch = await Watching.open(edge.asBearer(token), `${MAPS}?watch=1`);
    const kubelet = await Watching.open(
      edge.asNode,
      '/api/v1/nodes?watch=1&fieldSelector=metadata.name%3Dedge-1',
    );
    expect([watch.status, kubelet.status]).toEqual([200, 200]);
    for (const port of [edge.ports.http, edge.ports.https, edge.ports.admin]) {
      const sockets = await openMany(port, 150);
      await soon(() => expect(sockets.filter(({ closed }) => closed).length).toBeGreaterThanOrEqual(110));
      // Until the hub knows their user, new connections are not counted together with older ones.
      await soon(async () =>
        expect(await metric('tidegate_hub_connections')).toBeLessThanOrEqual(PER_PEER + 1),
      );
      for (let i = 0; i < 5; i++) {
        expect(await statusOf(edge.asNode, NODE_OBJECT)).toBe(404);
        expect(await statusOf(edge.asBearer(token), MAPS)).toBe(200);
      }
    }
    await edge.admin.create(CONFIG_MAPS, configMap('later', {}));
    await soon(() => expect(watch.story).toContain('ADDED later'));
    // Those whose user was not known yet count for the limit of all connections.
    const closed = await Promise.all(
      ['peer', 'total'].map((limit) => metric(`tidegate_hub_connections_closed_total\\{limit="${limit}"\\}`)),
    );
    expect(closed[0]! + closed[1]!).toBeGreaterThanOrEqual(330);
    watch.close();
    kubelet.close();
  });

  it('gets 429 for connections above the share of its namespace', async () => {
    const token = await reader('many', 'greedy');
    const watches: Watching[] = [];
    for (let i = 0; i < PER_TENANT + 5; i++)
      watches.push(await Watching.open(edge.asBearer(token), `${MAPS}?watch=1`));
    expect(watches.map(({ status }) => status)).toEqual([
      ...Array.from({ length: PER_TENANT }, () => 200),
      ...Array.from({ length: 5 }, () => 429),
    ]);
    const { text } = await say(edge.asBearer(await reader('sibling', 'greedy')), MAPS);
    expect(text).toContain('namespace greedy has too many connections to the hub');
    expect(await statusOf(edge.asBearer(await reader('other')), MAPS)).toBe(200);
    for (const each of watches) each.close();
    await soon(async () => expect(await statusOf(edge.asBearer(token), MAPS)).toBe(200));
  });
});
