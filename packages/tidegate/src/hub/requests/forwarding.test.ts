import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { Readable } from 'node:stream';
import { Exchange, requestInfo, requestTarget } from '@tidegate/serving';
import { expect, it } from 'vitest';
import type { Identity } from '../identity/index.ts';
import { AnswerShares } from './answer-shares.ts';
import type { ResourceCall } from './call.ts';
import { Forwarding } from './forwarding.ts';

const MIB = 1 << 20;
const LIST = 8 * MIB;
const PATH = '/api/v1/namespaces/shop/configmaps';
const greedy: Identity = {
  kind: 'bearer',
  key: 'sa:shop:greedy:1',
  token: '',
  tokenKey: '',
  peer: async () => '',
};
const modest: Identity = { ...greedy, key: 'sa:other:modest:2' };

/** A list of 8 MiB in parts of 1 MiB. Counts what the hub takes from it. */
function list(taken: (bytes: number) => void): Readable {
  function* parts(): Generator<Buffer> {
    for (let sent = 0; sent < LIST; sent += MIB) {
      taken(MIB);
      yield Buffer.alloc(MIB, ' ');
    }
  }
  return Readable.from(parts(), { objectMode: false });
}

/** A request whose client never reads the response. */
function unread(identity: Identity): ResourceCall {
  const request = new IncomingMessage(new Socket());
  request.method = 'GET';
  const target = requestTarget(PATH);
  return {
    exchange: new Exchange(request, new ServerResponse(request)),
    target,
    info: requestInfo('GET', target) as ResourceCall['info'],
    identity,
    component: 'app',
    signal: new AbortController().signal,
  };
}

function world() {
  let taken = 0;
  const forwarding = new Forwarding(
    {
      forward: async () => ({
        status: 200,
        headers: { 'content-type': 'application/json' },
        body: list((bytes) => {
          taken += bytes;
        }),
        server: 'https://api',
      }),
    },
    { unauthorized: async () => {}, forbidden: async () => {} },
    new AnswerShares((identity) => ({ identity, tenant: identity.split(':')[1] ?? '' })),
  );
  return { forwarding, taken: () => taken };
}

const turns = async (): Promise<void> => {
  for (let turn = 0; turn < 50; turn++) await new Promise((resolve) => setImmediate(resolve));
};

it('buffers at most the share of a client that does not read what it requests', async () => {
  const { forwarding, taken } = world();
  const calls = Array.from({ length: 40 }, () => unread(greedy));
  for (const call of calls) void forwarding.readJsonOrPass(call);
  await turns();
  // 64 MiB are its share. Behind that, each stream has at most two parts on their way.
  expect(taken()).toBeLessThanOrEqual(64 * MIB + 40 * 2 * MIB);
  expect((await forwarding.readJsonOrPass(unread(modest)))?.body.length).toBe(LIST);
});

it('refuses what it has to filter while the client has not read the rest', async () => {
  const { forwarding } = world();
  const calls = Array.from({ length: 8 }, () => unread(greedy));
  for (const call of calls) await forwarding.readJson(call);
  const length = async (): Promise<number> => (await forwarding.readJson(unread(greedy))).body.length;
  await expect(length()).rejects.toMatchObject({
    status: { code: 429, message: expect.stringContaining('more than it has read') },
  });
  for (const { exchange } of calls) exchange.response.emit('close');
  expect(await length()).toBe(LIST);
});

it('does not limit the node', async () => {
  const { forwarding } = world();
  for (let i = 0; i < 10; i++) await forwarding.readJson(unread({ kind: 'node', key: 'node' }));
});
