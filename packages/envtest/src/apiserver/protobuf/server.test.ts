/** The protobuf encoding over HTTP, as client-go and controller-runtime use it by default. */

import type { KubeObject } from '@tidegate/kube';
import { decodeList, decodeObject, decodeWatchEvent } from '@tidegate/kube/protobuf';
import { Agent, type Dispatcher, request } from 'undici';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Cluster, startCluster } from '../../cluster.ts';
import { encodeObject } from './index.ts';

const PROTOBUF = 'application/vnd.kubernetes.protobuf';
/** The header of client-go. */
const BOTH = `${PROTOBUF},application/json`;

let cluster: Cluster;
let dispatcher: Agent;

beforeAll(async () => {
  cluster = await startCluster();
  const { ca, credentials } = cluster.config;
  const { cert, key } = await credentials.current();
  dispatcher = new Agent({ connect: { ca, cert, key } });
});
afterAll(async () => {
  await dispatcher?.close();
  await cluster?.stop();
});

interface Answer {
  code: number;
  type: string;
  body: Buffer;
}

async function send(
  method: Dispatcher.HttpMethod,
  path: string,
  options: { accept: string; body?: Buffer; type?: string },
): Promise<Answer> {
  const { statusCode, headers, body } = await request(`${cluster.url}${path}`, {
    method,
    dispatcher,
    headers: { accept: options.accept, ...(options.body && { 'content-type': options.type ?? PROTOBUF }) },
    body: options.body ?? null,
  });
  return {
    code: statusCode,
    type: String(headers['content-type']),
    body: Buffer.from(await body.arrayBuffer()),
  };
}

const service = (name: string): KubeObject => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name, namespace: 'default', labels: { test: 'protobuf' } },
  spec: { ports: [{ port: 80, targetPort: 'http' }] },
});

const CRD = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'boats.example.com' },
  spec: {
    group: 'example.com',
    scope: 'Namespaced',
    names: { plural: 'boats', kind: 'Boat' },
    versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: { type: 'object' } } }],
  },
};

test('creates, gets, lists and deletes objects in protobuf', async () => {
  const path = '/api/v1/namespaces/default/services';
  const created = await send('POST', path, { accept: BOTH, body: encodeObject(service('a')) });
  expect(created).toMatchObject({ code: 201, type: PROTOBUF });
  expect(decodeObject(created.body)).toMatchObject({
    kind: 'Service',
    metadata: { name: 'a', uid: expect.any(String) },
    spec: { ports: [{ port: 80, protocol: 'TCP', targetPort: 'http' }], clusterIP: expect.any(String) },
  });
  const got = await send('GET', `${path}/a`, { accept: BOTH });
  expect(decodeObject(got.body)).toEqual(decodeObject(created.body));

  const listed = await send('GET', `${path}?labelSelector=test%3Dprotobuf&limit=5`, { accept: BOTH });
  const list = decodeList(listed.body);
  expect(list).toMatchObject({ kind: 'ServiceList', metadata: { resourceVersion: expect.any(String) } });
  expect(list.items).toEqual([decodeObject(got.body)]);

  const deleted = await send('DELETE', `${path}/a`, { accept: BOTH });
  expect(deleted.type).toBe(PROTOBUF);
  const gone = await send('GET', `${path}/a`, { accept: BOTH });
  expect(gone).toMatchObject({ code: 404, type: PROTOBUF });
  expect(decodeObject(gone.body)).toMatchObject({ kind: 'Status', reason: 'NotFound', code: 404 });
});

test('watches in protobuf', async () => {
  const { body, headers } = await request(
    `${cluster.url}/api/v1/namespaces/default/services?watch=true&labelSelector=test%3Dprotobuf&timeoutSeconds=30`,
    { dispatcher, headers: { accept: `${PROTOBUF};stream=watch,application/json` } },
  );
  expect(headers['content-type']).toBe(`${PROTOBUF};stream=watch`);
  const path = '/api/v1/namespaces/default/services';
  await send('POST', path, { accept: BOTH, body: encodeObject(service('watched')) });
  await send('DELETE', `${path}/watched`, { accept: BOTH });
  const seen: string[] = [];
  let rest = Buffer.alloc(0);
  for await (const chunk of body) {
    rest = Buffer.concat([rest, chunk as Buffer]);
    while (rest.length >= 4 && rest.length >= 4 + rest.readUInt32BE()) {
      const end = 4 + rest.readUInt32BE();
      const { type, object } = decodeWatchEvent(rest.subarray(4, end));
      seen.push(`${type} ${object.metadata.name}`);
      rest = rest.subarray(end);
    }
    if (seen.length === 2) break;
  }
  expect(seen).toEqual(['ADDED watched', 'DELETED watched']);
});

test('reads a CustomResourceDefinition in protobuf, and answers requests for its objects with JSON', async () => {
  const definitions = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
  const created = await send('POST', definitions, { accept: BOTH, body: encodeObject(CRD) });
  expect(created).toMatchObject({ code: 201, type: PROTOBUF });
  await expect
    .poll(async () => (await send('GET', '/apis/example.com/v1/boats', { accept: BOTH })).type)
    .toBe('application/json');
  const only = await send('GET', '/apis/example.com/v1/boats', { accept: PROTOBUF });
  expect(only.code).toBe(406);
  const metadata = await send('GET', '/apis/example.com/v1/boats', {
    accept: `${PROTOBUF};as=PartialObjectMetadataList;g=meta.k8s.io;v=v1`,
  });
  expect(metadata).toMatchObject({ code: 200, type: PROTOBUF });
});

test('sends tables in JSON only, and none of reviews', async () => {
  const table = 'as=Table;g=meta.k8s.io;v=v1';
  const path = '/api/v1/namespaces/default/services';
  expect((await send('GET', path, { accept: `${PROTOBUF};${table}` })).code).toBe(406);
  const fallback = await send('GET', path, { accept: `${PROTOBUF};${table},application/json;${table}` });
  expect(JSON.parse(fallback.body.toString())).toMatchObject({ kind: 'Table' });
  const review = {
    apiVersion: 'authorization.k8s.io/v1',
    kind: 'SelfSubjectAccessReview',
    metadata: {},
    spec: { resourceAttributes: { verb: 'list', resource: 'pods' } },
  };
  const refused = await send('POST', '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews', {
    accept: `application/json;${table}`,
    body: encodeObject(review),
  });
  expect(refused.code).toBe(406);
});
