import type { ServerResponse } from 'node:http';
import { gzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Logger, silentLogger } from '../base/log.ts';
import { FakeServer, type ReceivedRequest, WIDGETS } from '../testing/fake-server.ts';
import { envelope, field, frame, recordedProtobuf, recordedText } from '../testing/protobuf.ts';
import { answerJson } from '../testing/rest.ts';
import { KubeClient } from './client.ts';
import { ApiStatusError, ConnectionError } from './errors.ts';

const PROTOBUF = 'application/vnd.kubernetes.protobuf';
const SERVICES = { group: '', version: 'v1', resource: 'services', namespaced: true };
const SLICES = { ...SERVICES, group: 'discovery.k8s.io', resource: 'endpointslices' };
const FROM_THE_FUTURE = field(99, 'new');

describe('a client with protobuf', () => {
  let server: FakeServer;
  let client: KubeClient;
  let warnings: string[];

  beforeEach(async () => {
    server = new FakeServer();
    warnings = [];
    const log: Logger = { ...silentLogger, warn: (_, message) => warnings.push(message) };
    client = new KubeClient(await server.start(), { protobuf: true, log });
  });
  afterEach(async () => {
    await client.close();
    await server.stop();
  });

  const accepts = (): unknown[] => server.requests.map(({ headers }) => headers.accept);
  const asksForProtobuf = ({ headers }: ReceivedRequest): boolean =>
    headers.accept?.startsWith(PROTOBUF) === true;

  /** Answers in protobuf if the client accepts it, like a real API server. */
  function answer(protobuf: Buffer, json: unknown): void {
    server.intercept = (request, response) =>
      asksForProtobuf(request) ? answerProtobuf(response, protobuf) : answerJson(response, json);
  }

  /** A watch that arrives in chunks of this size. */
  function stream(bytes: Buffer, piece = bytes.length): void {
    server.intercept = (_, response) => {
      response.setHeader('content-type', `${PROTOBUF};stream=watch`);
      for (let at = 0; at < bytes.length; at += piece) response.write(bytes.subarray(at, at + piece));
      response.end();
      return true;
    };
  }

  async function watched(resource = SLICES): Promise<unknown[]> {
    const events: unknown[] = [];
    for await (const event of await client.watch(resource)) events.push(event);
    return events;
  }

  it('reads the same list as without', async () => {
    const json = JSON.parse(recordedText('v1.36.4/services.json'));
    answer(recordedProtobuf('v1.36.4/services'), json);
    const plain = new KubeClient(client.config);
    expect(await client.list(SERVICES)).toStrictEqual(await plain.list(SERVICES));
    await plain.close();
    expect(accepts()).toEqual([`${PROTOBUF}, application/json`, 'application/json']);
  });

  it('reads compressed answers', async () => {
    const body = gzipSync(recordedProtobuf('v1.36.4/services'));
    server.intercept = (_, response) => {
      response.setHeader('content-encoding', 'gzip');
      return answerProtobuf(response, body);
    };
    const { items } = JSON.parse(recordedText('v1.36.4/services.json'));
    expect((await client.list(SERVICES)).items).toHaveLength(items.length);
  });

  it.each([1, 7, 4096])('reads the same events in chunks of %i bytes', async (piece) => {
    stream(recordedProtobuf('v1.36.4/watch'), piece);
    const lines = recordedText('v1.36.4/watch.jsonl').trim().split('\n');
    expect(await watched()).toStrictEqual(lines.map((line) => JSON.parse(line)));
    expect(accepts()).toEqual([`${PROTOBUF};stream=watch, application/json`]);
  });

  it('accepts JSON from servers without protobuf, and requests JSON for other resources', async () => {
    server.put('a');
    expect((await client.list(SERVICES)).items).toHaveLength(1);
    await client.list(WIDGETS);
    expect(accepts()).toEqual([`${PROTOBUF}, application/json`, 'application/json']);
  });

  it('reports errors before a watch and inside it', async () => {
    server.intercept = (_, response) => {
      response.statusCode = 404;
      return answerProtobuf(response, recordedProtobuf('v1.36.4/status'));
    };
    const refusal = JSON.parse(recordedText('v1.36.4/status.json'));
    const refused = await client.list(SERVICES).catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(ApiStatusError);
    expect(refused).toMatchObject({ status: refusal, reason: 'NotFound' });
    stream(recordedProtobuf('v1.36.4/expired'));
    await expect(watched()).rejects.toMatchObject({ code: 410, reason: 'Expired' });
    expect(warnings).toEqual([]);
  });

  it('switches to JSON when the server sends unknown fields', async () => {
    const item = field(2, field(1, field(1, 'web')), FROM_THE_FUTURE);
    const metadata = { name: 'web' };
    answer(envelope('v1', 'ServiceList', item), {
      kind: 'ServiceList',
      metadata: {},
      items: [{ metadata, more: 'new' }],
    });
    for (let i = 0; i < 2; i++) {
      expect((await client.list(SERVICES)).items).toEqual([
        { apiVersion: 'v1', kind: 'Service', metadata, more: 'new' },
      ]);
    }
    expect(accepts()).toEqual([`${PROTOBUF}, application/json`, 'application/json', 'application/json']);
    expect(warnings).toHaveLength(1);
    answer(recordedProtobuf('v1.36.4/endpointslices'), undefined);
    await client.list(SLICES);
    expect(accepts()[3]).toBe(`${PROTOBUF}, application/json`);
  });

  it.each([
    ['more than it understands', frame('ADDED', envelope('v1', 'Service', FROM_THE_FUTURE))],
    ['no protobuf', frame('ADDED', Buffer.from('{}'))],
    ['endless', Buffer.from([0x7b, 0x22, 0x74, 0x79])],
  ])('abandons a watch that is %s, and opens the next in JSON', async (_, bytes) => {
    stream(bytes);
    await expect(watched(SERVICES)).rejects.toBeInstanceOf(ConnectionError);
    const event = { type: 'ADDED', object: { metadata: { name: 'web' } } };
    server.intercept = (_, response) => {
      response.end(`${JSON.stringify(event)}\n`);
      return true;
    };
    expect(await watched(SERVICES)).toEqual([event]);
    expect(accepts()).toEqual([`${PROTOBUF};stream=watch, application/json`, 'application/json']);
    expect(warnings).toHaveLength(1);
  });

  it('fails when a server sends protobuf that was not requested', async () => {
    server.intercept = (_, response) => answerProtobuf(response, Buffer.from('k8s\0'));
    await expect(client.list(SERVICES)).rejects.toBeInstanceOf(ConnectionError);
    expect(accepts()).toEqual([`${PROTOBUF}, application/json`, 'application/json']);
  });
});

function answerProtobuf(response: ServerResponse, body: Buffer): true {
  response.setHeader('content-type', PROTOBUF);
  response.end(body);
  return true;
}
