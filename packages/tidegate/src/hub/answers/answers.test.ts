import { gunzipSync } from 'node:zlib';
import {
  fixedCredential,
  Informer,
  KubeClient,
  type KubeObject,
  SERVICES,
  silentLogger,
} from '@tidegate/kube';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { parse } from 'yaml';
import { hiding, NO_FILTERS } from '../projections/testing.ts';
import { FakeView } from '../views/testing.ts';
import { sharedFrames } from './frames.ts';
import { AnsweringServer, Reader, textOf, until } from './testing/answering-server.ts';

const service = (name: string, version: number, more: Record<string, unknown> = {}): KubeObject => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name, namespace: 'a', resourceVersion: `${version}`, labels: { name } },
  ...more,
});

const LIST_V1 = 'application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1';
const OBJECT_V1BETA1 = 'application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1beta1';

let view: FakeView;
let hidden: Set<string>;
let server: AnsweringServer;

beforeEach(async () => {
  view = new FakeView('10');
  view.put(service('y', 11), service('x', 12));
  hidden = new Set();
  const chain = hiding(hidden);
  server = await new AnsweringServer(view, () => chain).start();
});

afterEach(() => server.close());

const list = async (query: string, headers?: Record<string, string>) =>
  JSON.parse(await textOf(await server.get(query, headers)));
const watch = async (query: string, headers?: Record<string, string>): Promise<Reader> =>
  new Reader(await server.get(`watch=1&${query}`, headers));

test('lists all objects that the projection shows, in the order of their keys', async () => {
  hidden.add('z');
  view.put(service('z', 13));
  const response = await server.get('limit=1&resourceVersion=0');
  expect(response.headers).toMatchObject({
    'content-type': 'application/json',
    'cache-control': 'no-cache, private',
  });
  expect(JSON.parse(await textOf(response))).toEqual({
    kind: 'ServiceList',
    apiVersion: 'v1',
    metadata: { resourceVersion: '13' },
    items: [service('x', 12), service('y', 11)],
  });
  expect((await list('labelSelector=name%3Dunknown')).items).toEqual([]);
});

test('lists as YAML and as metadata only, and returns 406 for other forms', async () => {
  const yaml = await server.get('', { accept: 'application/yaml' });
  expect(yaml.headers['content-type']).toBe('application/yaml');
  expect(parse(await textOf(yaml)).items).toEqual([service('x', 12), service('y', 11)]);
  const partial = await list('', { accept: LIST_V1 });
  expect(partial).toMatchObject({ kind: 'PartialObjectMetadataList', apiVersion: 'meta.k8s.io/v1' });
  expect(partial.items[0]).toEqual({
    kind: 'PartialObjectMetadata',
    apiVersion: 'meta.k8s.io/v1',
    metadata: service('x', 12).metadata,
  });
  const table = 'application/json;as=Table;g=meta.k8s.io;v=v1';
  expect(await list('', { accept: table })).toMatchObject({ code: 406, reason: 'NotAcceptable' });
});

test('compresses a large list for clients that accept gzip', async () => {
  view.put(service('large', 13, { data: 'x'.repeat(200_000) }));
  const response = await server.get('', { 'accept-encoding': 'gzip' });
  expect(response.headers).toMatchObject({ 'content-encoding': 'gzip', vary: 'Accept-Encoding' });
  const chunks: Buffer[] = [];
  for await (const chunk of response) chunks.push(chunk as Buffer);
  expect(JSON.parse(gunzipSync(Buffer.concat(chunks)).toString()).items).toHaveLength(3);
});

test('waits for a version that has not arrived yet, and returns 504 after three seconds', async () => {
  const waiting = list('resourceVersion=20');
  await until(() => server.open === 1);
  view.change([], '20');
  expect((await waiting).metadata).toEqual({ resourceVersion: '20' });
  const tooLarge = server.get('resourceVersion=30');
  await until(() => server.open === 1);
  await server.clock.advance(3_000);
  const response = await tooLarge;
  expect(response.headers['retry-after']).toBe('1');
  expect(JSON.parse(await textOf(response))).toMatchObject({
    code: 504,
    reason: 'Timeout',
    message: 'Timeout: Too large resource version: 30, current: 20',
    details: { causes: [{ reason: 'ResourceVersionTooLarge' }], retryAfterSeconds: 1 },
  });
});

test('returns 410 for a list at another version, and for a continue token', async () => {
  const exact = (version: number) => list(`resourceVersionMatch=Exact&resourceVersion=${version}`);
  expect((await exact(12)).items).toHaveLength(2);
  expect(await exact(11)).toMatchObject({ code: 410, reason: 'Expired' });
  expect(await list('continue=abc')).toMatchObject({ code: 410, reason: 'Expired' });
  expect(await list('resourceVersion=x')).toMatchObject({ code: 400, reason: 'BadRequest' });
});

test('starts a watch from a version, from 0, and with initial events', async () => {
  const [from, any, newest] = await Promise.all([
    watch('resourceVersion=12'),
    watch('resourceVersion=0'),
    watch('allowWatchBookmarks=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan'),
  ]);
  const state = ['ADDED x@12', 'ADDED y@11'];
  await until(() => newest.frames.length === 3 && any.frames.length === 2);
  expect(any.texts).toEqual(state);
  expect(newest.texts).toEqual([...state, 'BOOKMARK @12 k8s.io/initial-events-end']);
  view.delete('a/x', '14');
  hidden.add('y');
  server.dependencyChanged('service:a/y', '15');
  const events = ['DELETED x@14', 'DELETED y@15'];
  await until(() => from.frames.length === 2 && newest.frames.length === 5);
  expect(from.texts).toEqual(events);
  expect(newest.texts.slice(3)).toEqual(events);
  const back = await watch('resourceVersion=14');
  await until(() => back.frames.length === 1);
  expect(back.texts).toEqual(['DELETED y@15']);
});

test('reports an invalid version of a watch as an ERROR event', async () => {
  const old = await watch('resourceVersion=3');
  await until(() => old.over !== undefined);
  expect(old.over).toBe('end');
  expect(old.texts).toEqual(['ERROR 410@too old resource version: 3 (12)']);
  const pending = watch('sendInitialEvents=true&resourceVersionMatch=NotOlderThan&resourceVersion=30');
  await until(() => server.open === 1);
  await server.clock.advance(3_000);
  const future = await pending;
  await until(() => future.over !== undefined);
  expect(future.texts).toEqual(['ERROR 504@Timeout: Too large resource version: 30, current: 12']);
});

test('watches metadata only, in the requested version', async () => {
  const reader = await watch('resourceVersion=0&allowWatchBookmarks=1', { accept: OBJECT_V1BETA1 });
  await until(() => reader.frames.length === 2);
  await server.clock.advance(60_000);
  await until(() => reader.frames.length === 3);
  const type = { kind: 'PartialObjectMetadata', apiVersion: 'meta.k8s.io/v1beta1' };
  expect(reader.frames[0]?.object).toEqual({ ...type, metadata: service('x', 12).metadata });
  expect(reader.frames[2]?.object).toEqual({
    ...type,
    metadata: { resourceVersion: '12', creationTimestamp: null },
  });
});

test('ends a watch with a bookmark at its timeout, or when the hub stops, and leaks nothing', async () => {
  const timed = await watch('resourceVersion=12&allowWatchBookmarks=true&timeoutSeconds=90');
  const other = await watch('resourceVersion=12');
  view.change([], '40');
  await server.clock.advance(90_000);
  await until(() => timed.over !== undefined);
  expect([timed.over, timed.texts]).toEqual(['end', ['BOOKMARK @40', 'BOOKMARK @40']]);
  expect(other.over).toBeUndefined();
  server.stop.abort();
  await until(() => other.over !== undefined && server.open === 0);
  expect(other.over).toBe('end');
  server.projections.close();
  expect([server.clock.pending, view.listeners]).toEqual([0, 0]);
});

test('leaks nothing when a client disconnects', async () => {
  const reader = await watch('resourceVersion=12');
  reader.response.destroy();
  await until(() => server.open === 0);
  server.projections.close();
  expect([server.clock.pending, view.listeners]).toEqual([0, 0]);
});

test('ends a watch when the view is refused, and with 410 when the cluster was restored from a backup', async () => {
  const refused = await watch('resourceVersion=12');
  view.refuse(new Error('forbidden'));
  await until(() => refused.over !== undefined);
  expect([refused.over, refused.texts]).toEqual(['end', []]);
  const restored = await watch('resourceVersion=12');
  view.change([], '5');
  await until(() => restored.over !== undefined);
  expect(restored.texts).toEqual(['ERROR 410@too old resource version: 12 (5)']);
});

test('sends an initial state of any size to a slow client, and disconnects a client that does not read its events', async () => {
  const data = 'x'.repeat(512 * 1024);
  for (let i = 0; i < 40; i++) view.put(service(`s${i}`, 100 + i, { data }));
  const response = await server.get('watch=1&resourceVersion=0');
  for (let i = 0; i < 4; i++) view.put(service('x', 200 + i));
  const reader = new Reader(response);
  await until(() => reader.frames.length === 46);
  expect(reader.texts.slice(-4)).toEqual([200, 201, 202, 203].map((version) => `MODIFIED x@${version}`));
  response.pause();
  for (let i = 0; i < 60 && server.open > 0; i++) {
    view.put(service('x', 300 + i, { data }));
    await new Promise((resolve) => setImmediate(resolve));
  }
  await until(() => server.open === 0);
  response.resume();
  await until(() => reader.over !== undefined);
  expect(reader.over).toBe('cut');
});

test('disconnects a client for which too much waits in all of its watches', async () => {
  const data = 'x'.repeat(512 * 1024);
  const counted: number[] = [];
  server.queued = (bytes) => {
    counted.push(bytes);
    return bytes < 4 * data.length;
  };
  view.put(service('x', 100));
  const response = await server.get('watch=1&resourceVersion=0');
  response.pause();
  for (let i = 0; i < 60 && server.open > 0; i++) {
    view.put(service('x', 300 + i, { data }));
    await new Promise((resolve) => setImmediate(resolve));
  }
  await until(() => server.open === 0);
  expect(Math.max(...counted)).toBeLessThan(6 * data.length);
});

test('sends the error that ends a watch also to a client that is still reading earlier events', async () => {
  const data = 'x'.repeat(512 * 1024);
  for (let i = 0; i < 40; i++) view.put(service(`s${i}`, 100 + i, { data }));
  const response = await server.get('watch=1&resourceVersion=0');
  // The API server was restored from a backup, and the client has read nothing yet.
  view.change([], '5');
  const reader = new Reader(response);
  await until(() => reader.over !== undefined);
  expect(reader.frames.length).toBe(43);
  expect(reader.texts.at(-1)).toBe('ERROR 410@too old resource version: 139 (5)');
});

test('encodes an event once for all watches with the same form', () => {
  const item = { key: 'a/x', resourceVersion: '2', bytes: Buffer.from(JSON.stringify(service('x', 2))) };
  const events = [{ type: 'ADDED', item } as const];
  const partial = { partialMetadata: 'meta.k8s.io/v1' };
  expect(sharedFrames(events, 'whole')).toBe(sharedFrames(events, 'whole'));
  expect(sharedFrames(events, partial)).toBe(sharedFrames(events, partial));
  expect(sharedFrames([...events], 'whole')).not.toBe(sharedFrames(events, 'whole'));
});

test('keeps an informer current through changes of objects, dependencies and filters', async () => {
  let chain = NO_FILTERS;
  const answering = await new AnsweringServer(view, () => chain).start();
  const client = new KubeClient({ server: answering.url, namespace: '', credentials: fixedCredential({}) });
  const stop = new AbortController();
  const informer = new Informer(client, SERVICES, { log: silentLogger });
  const running = informer.run(stop.signal);
  const names = (): string =>
    [...informer.cache.list()]
      .map(({ metadata }) => metadata.name)
      .sort()
      .join();
  await until(() => names() === 'x,y');
  view.put(service('z', 13));
  await until(() => names() === 'x,y,z');
  chain = hiding(hidden.add('x'));
  answering.projections.reconfigured('14');
  await until(() => names() === 'y,z');
  hidden.add('y');
  answering.dependencyChanged('service:a/y', '16');
  await until(() => names() === 'z');
  hidden.clear();
  answering.dependencyChanged('service:a/x', '17');
  await until(() => names() === 'x,z');
  stop.abort();
  await running;
  await client.close();
  await answering.close();
});
