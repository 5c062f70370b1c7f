/**
 * Formats of responses: JSON, YAML, compressed, metadata only, tables, protobuf; filtered or not, online and
 * offline.
 */

import { buffer } from 'node:stream/consumers';
import { ENDPOINT_SLICES, type KubeList, type KubeObject, SERVICES } from '@tidegate/kube';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse as parseYaml } from 'yaml';
import { Edge, NODE } from '../support/edge.ts';
import {
  configMap,
  goOffline,
  goOnline,
  nodesIn,
  proxyToken,
  service,
  slice,
  soon,
} from '../support/edge-objects.ts';
import { open, type Said, say, Watching, type Way } from '../support/wire.ts';

const JSON_TYPE = 'application/json';
const YAML = 'application/yaml';
const PROTOBUF = 'application/vnd.kubernetes.protobuf';
const TABLE = `${JSON_TYPE};as=Table;v=v1;g=meta.k8s.io`;
const partial = (list = '', version = 'v1', type = JSON_TYPE): string =>
  `${type};as=PartialObjectMetadata${list};v=${version};g=meta.k8s.io`;
const SLICES = '/apis/discovery.k8s.io/v1/namespaces/default/endpointslices';
const MAPS = '/api/v1/namespaces/default/configmaps';
const CONFIG_MAPS = { group: '', version: 'v1', resource: 'configmaps', namespaced: true };

let edge: Edge;
let proxy: Way;
let app: Way;

beforeAll(async () => {
  edge = await Edge.start();
  proxy = edge.asBearer(await proxyToken(edge), 'kube-proxy');
  await edge.admin.create(
    SERVICES,
    service('web', { annotations: { 'openyurt.io/topologyKeys': 'kubernetes.io/hostname' } }),
  );
  await edge.admin.create(ENDPOINT_SLICES, slice('web', [NODE, 'far']));
  await edge.admin.create(CONFIG_MAPS, configMap('c', { value: '0' }));
  await edge.allowReading('app', [{ group: '', resource: 'configmaps' }]);
  app = edge.asBearer(await edge.token('app'));
  await soon(async () => expect((await ask(proxy, `${SLICES}/web-1`, JSON_TYPE)).status).toBe(200));
});
afterAll(() => edge.stop());

const ask = (way: Way, path: string, accept: string, headers: Record<string, string> = {}): Promise<Said> =>
  say(way, path, { headers: { accept, ...headers } });
const web = ({ items }: KubeList<KubeObject>): KubeObject | undefined =>
  items.find(({ metadata }) => metadata.name === 'web-1');

describe('a filtered response', () => {
  it('is available in JSON and YAML', async () => {
    const json = await ask(proxy, SLICES, JSON_TYPE);
    expect(json.headers['content-type']).toBe(JSON_TYPE);
    expect(nodesIn(web(json.json()))).toEqual([NODE]);
    const yaml = await ask(proxy, SLICES, YAML);
    expect(yaml.headers['content-type']).toBe(YAML);
    expect(parseYaml(yaml.text)).toEqual(json.json());
    const one = await ask(proxy, `${SLICES}/web-1`, YAML);
    expect(parseYaml(one.text)).toEqual((await ask(proxy, `${SLICES}/web-1`, JSON_TYPE)).json());
  });

  it('is available as metadata only, for lists, gets and watches, in both versions', async () => {
    for (const version of ['v1', 'v1beta1']) {
      const accept = `${partial('List', version, PROTOBUF)},${partial('List', version)},${JSON_TYPE}`;
      const list = (await ask(proxy, SLICES, accept)).json<KubeList<KubeObject>>();
      expect(list).toMatchObject({
        kind: 'PartialObjectMetadataList',
        apiVersion: `meta.k8s.io/${version}`,
        metadata: { resourceVersion: expect.any(String) },
      });
      expect(web(list)).toMatchObject({
        kind: 'PartialObjectMetadata',
        apiVersion: `meta.k8s.io/${version}`,
      });
      expect(web(list)).not.toHaveProperty('endpoints');
      const one = (await ask(proxy, `${SLICES}/web-1`, partial('', version))).json();
      expect([one.kind, one.metadata.name]).toEqual(['PartialObjectMetadata', 'web-1']);
      const watch = await Watching.open(proxy, `${SLICES}?watch=1&resourceVersion=0`, {
        headers: { accept: partial('', version) },
      });
      await soon(() => expect(watch.story).toContain('ADDED web-1'));
      for (const { object } of watch.frames)
        expect([object.kind, object.apiVersion]).toEqual(['PartialObjectMetadata', `meta.k8s.io/${version}`]);
      watch.close();
    }
  });

  it('is in a format that can be filtered, or 406 if the client accepts none', async () => {
    for (const accept of [
      `${PROTOBUF},${JSON_TYPE}`,
      `${TABLE},${JSON_TYPE}`,
      `application/cbor,${JSON_TYPE}`,
      '*/*',
    ]) {
      const said = await ask(proxy, SLICES, accept);
      expect([accept, said.headers['content-type']]).toEqual([accept, JSON_TYPE]);
      expect(nodesIn(web(said.json()))).toEqual([NODE]);
    }
    for (const accept of [TABLE, 'application/cbor', 'text/html'])
      expect([accept, (await ask(proxy, SLICES, accept)).json()]).toMatchObject([
        accept,
        { kind: 'Status', code: 406, reason: 'NotAcceptable' },
      ]);
    const watch = await Watching.open(proxy, `${SLICES}?watch=1&resourceVersion=0`, {
      headers: { accept: `${PROTOBUF};stream=watch,${JSON_TYPE};stream=watch` },
    });
    await soon(() => expect(watch.story).toContain('ADDED web-1'));
    watch.close();
  });

  it('never reaches a client unfiltered that accepts only protobuf', async () => {
    const said = await ask(proxy, SLICES, PROTOBUF);
    expect([200, 406]).toContain(said.status);
    // An unfiltered response would contain an address of the other node.
    expect(said.text).not.toContain('10.0.0.2');
  });
});

describe('an unfiltered response', () => {
  it('as a table or in protobuf comes from the API server', async () => {
    const table = await ask(app, MAPS, `${TABLE},${JSON_TYPE}`);
    expect(table.json()).toMatchObject({ kind: 'Table', columnDefinitions: expect.any(Array) });
    const protobuf = await ask(app, MAPS, PROTOBUF);
    const direct = await say(
      {
        ...edge.https,
        port: Number(new URL(edge.server.url).port),
        ...(await edge.admin.config.credentials.current()),
      },
      MAPS,
      { headers: { accept: PROTOBUF } },
    );
    expect([protobuf.status, protobuf.headers['content-type']]).toEqual([
      direct.status,
      direct.headers['content-type'],
    ]);
  });

  it('as metadata, YAML or JSON can come from the hub', async () => {
    const json = await ask(app, MAPS, JSON_TYPE);
    expect(parseYaml((await ask(app, MAPS, YAML)).text)).toMatchObject({
      kind: 'ConfigMapList',
      items: json.json<KubeList<KubeObject>>().items,
    });
    const metadata = (await ask(app, MAPS, partial('List'))).json<KubeList<KubeObject>>();
    expect(metadata.kind).toBe('PartialObjectMetadataList');
    expect(metadata.items[0]).not.toHaveProperty('data');
  });
});

describe('offline', () => {
  beforeAll(async () => {
    await ask(app, MAPS, JSON_TYPE);
    await goOffline(edge);
  });
  afterAll(() => goOnline(edge));

  it('JSON, YAML and metadata are available as before', async () => {
    const json = (await ask(app, MAPS, JSON_TYPE)).json();
    expect(parseYaml((await ask(app, MAPS, YAML)).text)).toEqual(json);
    expect((await ask(app, MAPS, partial('List'))).json().kind).toBe('PartialObjectMetadataList');
    expect((await ask(app, `${MAPS}/c`, partial())).json().kind).toBe('PartialObjectMetadata');
    expect(
      nodesIn(
        web((await ask(proxy, SLICES, YAML)).text ? parseYaml((await ask(proxy, SLICES, YAML)).text) : {}),
      ),
    ).toEqual([NODE]);
  });

  it('kubectl gets a list instead of a table, and a client that accepts only tables gets 406', async () => {
    expect((await ask(app, MAPS, `${TABLE},${JSON_TYPE}`)).json().kind).toBe('ConfigMapList');
    expect((await ask(app, MAPS, TABLE)).json()).toMatchObject({ code: 406, reason: 'NotAcceptable' });
  });
});

it('large responses are compressed for clients that accept gzip, small ones are not', async () => {
  await edge.admin.create(CONFIG_MAPS, configMap('large', { value: 'x'.repeat(300_000) }));
  const gzip = { 'accept-encoding': 'gzip' };
  const large = await soon(async () => {
    const said = await ask(app, `${MAPS}?resourceVersion=0`, YAML, gzip);
    expect(said.text).toContain('xxxx');
    return said;
  });
  expect(large.headers['content-encoding']).toBe('gzip');
  const sent = await open(app, `${MAPS}?resourceVersion=0`, { headers: { accept: YAML, ...gzip } });
  expect((await buffer(sent)).length).toBeLessThan(20_000);
  expect((await ask(app, `${MAPS}?resourceVersion=0`, YAML)).headers['content-encoding']).toBeUndefined();
  expect((await ask(app, `${MAPS}/c`, JSON_TYPE, gzip)).headers['content-encoding']).toBeUndefined();
  expect((await ask(app, MAPS, JSON_TYPE, gzip)).json<KubeList<KubeObject>>().items).toHaveLength(2);
});
