/**
 * Streams and upgrades that the hub forwards, and the cleanup after clients that disconnect or do not read.
 */

import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { type KubeList, type KubeObject, SERVICES } from '@tidegate/kube';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Edge } from '../support/edge.ts';
import {
  configMap,
  goOffline,
  goOnline,
  proxyToken,
  service,
  soon,
  viewsOf,
} from '../support/edge-objects.ts';
import { open, say, Watching, type Way } from '../support/wire.ts';

const CONFIG_MAPS = { group: '', version: 'v1', resource: 'configmaps', namespaced: true };
const MAPS = '/api/v1/namespaces/default/configmaps';
const LOG = '/api/v1/namespaces/default/pods/p/log?follow=true';

let edge: Edge;
let app: Way;
let proxy: Way;

beforeAll(async () => {
  edge = await Edge.start({ front: true });
  await edge.admin.create(CONFIG_MAPS, configMap('c', { value: '0' }));
  await edge.admin.create(SERVICES, service('web'));
  await edge.allowReading('app', [{ group: '', resource: 'configmaps' }]);
  app = edge.asBearer(await edge.token('app'));
  proxy = edge.asBearer(await proxyToken(edge), 'kube-proxy');
});
afterAll(() => edge.stop());

describe('the hub forwards', () => {
  it('a followed log line by line, and closes it upstream when the client disconnects', async () => {
    const lines: ((line: string) => void)[] = [];
    edge.front.lie = (request, response) => {
      if (request.url !== LOG) return false;
      response.writeHead(200, { 'content-type': 'text/plain' }).flushHeaders();
      lines.push((line) => response.write(`${line}\n`));
      return true;
    };
    const log = await open(app, LOG);
    let read = '';
    log.on('data', (chunk: Buffer) => {
      read += chunk.toString();
    });
    for (const line of ['one', 'two', 'three']) {
      lines[0]!(line);
      await soon(() => expect(read.endsWith(`${line}\n`)).toBe(true));
    }
    expect([...edge.front.open]).toContain(`GET ${LOG}`);
    log.destroy();
    await soon(() => expect([...edge.front.open]).not.toContain(`GET ${LOG}`));
    edge.front.lie = () => false;
  });

  it('bodies of any size in both directions', async () => {
    const size = 80 << 20;
    const path = '/api/v1/namespaces/default/services/web/proxy/large';
    let received = 0;
    edge.front.lie = (request, response) => {
      if (!request.url?.startsWith(path)) return false;
      request.on('data', (chunk: Buffer) => {
        received += chunk.length;
      });
      request.on('end', () => {
        response.writeHead(200, { 'content-type': 'application/octet-stream' });
        const piece = Buffer.alloc(1 << 20, 'x');
        for (let i = 0; i < size >> 20; i++) response.write(piece);
        response.end();
      });
      return true;
    };
    const answer = await open(app, path, {
      method: 'POST',
      body: Buffer.alloc(20 << 20, 'y'),
      headers: { 'content-type': 'application/octet-stream' },
    });
    let got = 0;
    for await (const chunk of answer as AsyncIterable<Buffer>) got += chunk.length;
    expect([received, got]).toEqual([20 << 20, size]);
    edge.front.lie = () => false;
  });

  const ALL_MAPS = '/api/v1/configmaps';
  /** Makes the API server return a list with this many ConfigMaps of 1 MiB each. */
  const lieOf = (count: number): void => {
    const text = JSON.stringify({
      metadata: { name: 'n', namespace: 'default' },
      data: { value: 'x'.repeat(1 << 20) },
    });
    edge.front.lie = ({ method, url = '' }, response) => {
      if (method !== 'GET' || !url.startsWith(ALL_MAPS) || url.includes('watch=')) return false;
      response.writeHead(200, { 'content-type': 'application/json' });
      response.write(
        '{"kind":"ConfigMapList","apiVersion":"v1","metadata":{"resourceVersion":"5"},"items":[',
      );
      for (let i = 0; i < count; i++) response.write(i === 0 ? text : `,${text}`);
      response.end(']}');
      return true;
    };
  };
  const listSize = async (): Promise<number> => {
    const answer = await open(app, ALL_MAPS);
    expect(answer.statusCode).toBe(200);
    let got = 0;
    for await (const chunk of answer as AsyncIterable<Buffer>) got += chunk.length;
    return got;
  };

  it.each([40, 70])('a list of %i MiB, which is too large to store, and its watch', async (count) => {
    lieOf(count);
    expect(await listSize()).toBeGreaterThan(count << 20);
    const watch = await Watching.open(app, `${ALL_MAPS}?watch=1&timeoutSeconds=${count}`);
    expect(watch.status).toBe(200);
    expect(edge.front.requests).toContain(`GET ${ALL_MAPS}?watch=1&timeoutSeconds=${count}`);
    watch.close();
    edge.front.lie = () => false;
    const kept = (await viewsOf(edge)).filter(
      (view) => view.resource === 'configmaps/v1' && view.objects > 1,
    );
    expect(kept).toEqual([]);
    expect((await say(edge.administration, '/metrics')).text).toMatch(
      /too_large_total\{resource="configmaps"\} [1-9]/,
    );
  });

  it('an upgraded connection, and answers 503 with a Status object offline', async () => {
    const exec = await upgrade(edge.ports.http, app);
    expect(exec.head).toBe('HTTP/1.1 101 Switching Protocols');
    exec.socket.write('are you there?');
    await soon(() => expect(exec.read()).toContain('are you there?'));
    exec.socket.destroy();
    await goOffline(edge);
    const refused = await upgrade(edge.ports.http, app);
    expect(refused.head).toMatch(/^HTTP\/1\.1 503/);
    await soon(() => expect(refused.read()).toContain('"reason":"ServiceUnavailable"'));
    refused.socket.destroy();
    await goOnline(edge);
  });
});

/** Sends the same request as kubectl exec. */
async function upgrade(port: number, way: Way): Promise<{ head: string; socket: Socket; read(): string }> {
  const socket = connect(port, '127.0.0.1');
  socket.on('error', () => socket.destroy());
  let text = '';
  socket.on('data', (chunk) => {
    text += chunk.toString();
  });
  await once(socket, 'connect');
  const headers = Object.entries({ ...way.headers, host: 'hub', connection: 'Upgrade', upgrade: 'SPDY/3.1' });
  socket.write(
    `POST /api/v1/namespaces/default/pods/p/exec?command=ls HTTP/1.1\r\n${headers.map(([k, v]) => `${k}: ${v}\r\n`).join('')}content-length: 0\r\n\r\n`,
  );
  await soon(() => expect(text).toContain('\r\n\r\n'));
  return { head: text.slice(0, text.indexOf('\r\n')), socket, read: () => text };
}

describe('the hub cleans up', () => {
  it('after 200 watches have ended', async () => {
    const clients = async (): Promise<number> =>
      (await viewsOf(edge)).reduce((sum, view) => sum + view.clients, 0);
    await say(app, MAPS);
    await say(proxy, '/api/v1/services');
    const before = await clients();
    const upstreamBefore = await settledWatches();
    for (let round = 0; round < 4; round++) {
      const watches = await Promise.all(
        Array.from({ length: 50 }, (_, i) =>
          Watching.open(
            i % 2 === 0 ? app : proxy,
            `${i % 2 === 0 ? MAPS : '/api/v1/services'}?watch=1&resourceVersion=0`,
          ),
        ),
      );
      await soon(() => {
        for (const watch of watches) expect(watch.frames.length).toBeGreaterThan(0);
      });
      for (const watch of watches) watch.close();
    }
    await soon(async () => expect(await clients()).toBe(before));
    // One watch of the ConfigMaps, which is kept for a while.
    expect((await settledWatches()).length).toBeLessThanOrEqual(upstreamBefore.length + 1);
    const metrics = (await say(edge.administration, '/metrics')).text;
    expect(metrics).toMatch(/tidegate_hub_requests_total\{verb="watch",resource="services",code="200"\} 100/);
  });

  const settledWatches = async (): Promise<string[]> =>
    [...edge.front.open].filter((request) => request.includes('watch=true'));

  it('a watch that is not read, without affecting others', async () => {
    const stuck = await open(app, `${MAPS}?watch=1&resourceVersion=0`);
    stuck.pause();
    const cut = new Promise((resolve) => stuck.once('error', resolve));
    const watch = await Watching.open(app, `${MAPS}?watch=1&resourceVersion=0`);
    const value = 'x'.repeat(900_000);
    for (let i = 0; i < 40; i++)
      await edge.admin.patch(CONFIG_MAPS, { namespace: 'default', name: 'c' }, 'merge', {
        data: { value: `${i}${value}` },
      });
    await soon(() =>
      expect(watch.frames.at(-1)?.object).toMatchObject({ data: { value: expect.stringMatching(/^39x/) } }),
    );
    stuck.resume();
    await cut;
    watch.close();
    const list = (await say(app, MAPS)).json<KubeList<KubeObject>>();
    expect(list.items).toHaveLength(1);
  });
});
