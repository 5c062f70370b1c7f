import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Metrics, silentLogger } from '@tidegate/kube';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type AdminRow, type AdminSource, adminHandler } from './admin.ts';

const ROWS: AdminRow[] = [
  { identity: 'shared', resource: 'services', objects: 12, following: true },
  { identity: 'node', resource: 'pods', objects: 3, following: false, lastReceived: '2026-01-01T00:00:00Z' },
];

describe('the admin port', () => {
  let reasons: string[] = [];
  let warnings: string[] = [];
  let journal: () => AdminRow[] = () => [];
  let server: Server;
  let base: string;

  beforeAll(async () => {
    const metrics = new Metrics();
    metrics.counter('hub_things_total', { help: 'Things.' }).inc({}, 2);
    const source: AdminSource = {
      health: () => ({ ready: reasons.length === 0, reasons, warnings }),
      metrics,
      views: () => ROWS,
      filters: () => [],
      journal: () => journal(),
      upstreams: () => [],
    };
    server = createServer(adminHandler(source, silentLogger)).listen(0, '127.0.0.1');
    await once(server, 'listening');
    base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  afterAll(() => server.close());

  async function get(
    path: string,
    init: RequestInit = {},
  ): Promise<{ code: number; type: string; body: string }> {
    const response = await fetch(`${base}${path}`, init);
    return {
      code: response.status,
      type: response.headers.get('content-type') ?? '',
      body: await response.text(),
    };
  }

  it('reports liveness, and readiness with reasons', async () => {
    expect(await get('/v1/healthz')).toMatchObject({ code: 200, body: 'ok\n' });
    expect(await get('/v1/readyz')).toMatchObject({ code: 200, body: 'ok\n' });
    warnings = ['no space left'];
    expect(await get('/v1/readyz')).toMatchObject({ code: 200, body: 'ok\nwarning: no space left\n' });
    warnings = [];
    reasons = ['no serving certificate yet', 'services are not known yet'];
    expect(await get('/v1/readyz')).toMatchObject({
      code: 503,
      body: 'not ready\nno serving certificate yet\nservices are not known yet\n',
    });
    expect(await get('/v1/healthz')).toMatchObject({ code: 200 });
  });

  it('serves metrics', async () => {
    expect((await get('/metrics')).body).toContain('hub_things_total 2');
  });

  it('serves pages as JSON and as tables', async () => {
    const json = await get('/v1/views');
    expect(json).toMatchObject({ code: 200, type: 'application/json' });
    expect(JSON.parse(json.body)).toEqual(ROWS);
    const table =
      'IDENTITY   RESOURCE   OBJECTS   FOLLOWING   LAST RECEIVED\n' +
      'shared     services   12        true        -\n' +
      'node       pods       3         false       2026-01-01T00:00:00Z\n';
    expect((await get('/v1/views?output=text')).body).toBe(table);
    expect((await get('/v1/views', { headers: { accept: 'text/plain' } })).body).toBe(table);
    expect((await get('/v1/journal?output=text')).body).toBe('none\n');
    expect((await get('/v1/journal')).body).toBe('[]\n');
  });

  it('lists the available paths, rejects writes, and answers 500 if a page fails', async () => {
    expect(await get('/v1/secrets')).toMatchObject({
      code: 404,
      body: 'not found; available paths: /v1/healthz, /v1/readyz, /metrics, /v1/views, /v1/filters, /v1/journal, /v1/upstreams\n',
    });
    expect(await get('/v1/views', { method: 'POST' })).toMatchObject({ code: 405 });
    journal = () => {
      throw new Error('the disk is gone');
    };
    expect(await get('/v1/journal')).toMatchObject({
      code: 500,
      body: 'internal server error; see the log of the hub\n',
    });
    expect(await get('/v1/healthz')).toMatchObject({ code: 200 });
  });
});
