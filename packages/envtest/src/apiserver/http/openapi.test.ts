import { once } from 'node:events';
import { createServer, request, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Exchange } from '@tidegate/serving';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { definitionOf } from '../crd/definition.ts';
import { builtinResources, type ServiceAllocator } from '../resources/index.ts';
import { noHooks } from '../resources/testing.ts';
import { Registry } from '../served/registry.ts';
import { Documents } from './documents.ts';
import { addOpenApi } from './openapi.ts';

const PROTOBUF = 'application/com.github.proto-openapi.spec.v2.v1.0+protobuf';
const PROTOBUF_AS_ASKED = 'application/com.github.proto-openapi.spec.v2@v1.0+protobuf';

const registry = new Registry();
let server: Server;

beforeAll(async () => {
  for (const definition of builtinResources(noHooks({} as ServiceAllocator))) registry.set(definition);
  const documents = new Documents();
  addOpenApi(documents, registry, 'v1.36.4');
  server = createServer((incoming, response) => {
    const path = (incoming.url ?? '').split('?')[0] ?? '';
    const query = new URLSearchParams();
    const exchange = new Exchange(incoming, response);
    documents.find(path)?.({ path, query, representation: { format: 'json' }, exchange });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
});

interface Answer {
  code: number | undefined;
  type: string | undefined;
  etag: string;
  body: Buffer;
}

async function get(path: string, headers: Record<string, string> = {}): Promise<Answer> {
  const { port } = server.address() as AddressInfo;
  const sent = request({ host: '127.0.0.1', port, path, headers }).end();
  const [response] = await once(sent, 'response');
  const body = Buffer.concat(await response.toArray());
  return {
    code: response.statusCode,
    type: response.headers['content-type'],
    etag: response.headers.etag,
    body,
  };
}

describe('/openapi/v2', () => {
  it.each([
    ['', 'application/json'],
    ['*/*', 'application/json'],
    ['application/json, */*', 'application/json'],
    [PROTOBUF, PROTOBUF],
    [PROTOBUF_AS_ASKED, PROTOBUF],
    [`application/json;q=0.5, ${PROTOBUF_AS_ASKED}`, PROTOBUF],
    [`application/json, ${PROTOBUF_AS_ASKED}`, 'application/json'],
  ])('answers a client that accepts "%s" with %s', async (accept, type) => {
    const answer = await get('/openapi/v2', { accept });
    expect(answer).toMatchObject({ code: 200, type });
    const opening = type === PROTOBUF ? '\n\x032.0\x12' : '{"swagger":"2.0",';
    expect(answer.body.toString('latin1').slice(0, opening.length)).toBe(opening);
  });

  it('rejects clients that accept neither format', async () => {
    expect(await get('/openapi/v2', { accept: 'text/html' })).toMatchObject({ code: 406 });
  });

  it('includes custom resources', async () => {
    const names = { plural: 'gadgets', singular: 'gadget', kind: 'Gadget', listKind: 'GadgetList' };
    const version = { name: 'v1', served: true, storage: true };
    const schema = { openAPIV3Schema: { type: 'object' as const } };
    const before = await get('/openapi/v2');
    registry.set(
      definitionOf({
        apiVersion: 'apiextensions.k8s.io/v1',
        kind: 'CustomResourceDefinition',
        metadata: { name: 'gadgets.example.com' },
        spec: { group: 'example.com', scope: 'Cluster', names, versions: [{ ...version, schema }] },
      }),
    );
    const after = await get('/openapi/v2');
    registry.delete('example.com', 'gadgets');
    expect(before.body.includes('com.example.v1.Gadget')).toBe(false);
    expect(after.body.includes('com.example.v1.Gadget')).toBe(true);
    expect((await get('/openapi/v2')).etag).toBe(before.etag);
    expect(after.etag).not.toBe(before.etag);
  });
});

describe('ETag', () => {
  it.each(['/openapi/v2', '/openapi/v3/apis/apps/v1'])(
    'answers 304 for %s if it has not changed',
    async (path) => {
      const { etag } = await get(path);
      const again = await get(path, { 'if-none-match': etag });
      expect(again).toMatchObject({ code: 304, etag });
      expect(again.body).toHaveLength(0);
    },
  );

  it('changes when a version of a custom resource is renamed', async () => {
    const etagOf = async (name: string): Promise<string> => {
      const schema = { openAPIV3Schema: { type: 'object' as const } };
      const names = { plural: 'gadgets', singular: 'gadget', kind: 'Gadget', listKind: 'GadgetList' };
      const versions = [{ name, served: true, storage: true, schema }];
      registry.set(
        definitionOf({
          apiVersion: 'apiextensions.k8s.io/v1',
          kind: 'CustomResourceDefinition',
          metadata: { name: 'gadgets.example.com' },
          spec: { group: 'example.com', scope: 'Cluster', names, versions },
        }),
      );
      const { etag } = await get('/openapi/v2');
      registry.delete('example.com', 'gadgets');
      return etag;
    };
    expect(await etagOf('v3')).not.toBe(await etagOf('v4'));
  });

  it('differs for each format of a document', async () => {
    const { etag } = await get('/openapi/v2');
    const other = await get('/openapi/v2', { accept: PROTOBUF, 'if-none-match': etag });
    expect(other.code).toBe(200);
  });
});
