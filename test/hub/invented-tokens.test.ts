/** Clients that invent many tokens. Each token costs a review by the API server; clients with real tokens must get theirs. */
import { CONFIG_MAPS } from '@tidegate/kube';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { Edge } from '../support/edge.ts';
import { configMap, soon } from '../support/edge-objects.ts';
import { TestProcess } from '../support/process.ts';
import { say, type Way } from '../support/wire.ts';

const MAPS = '/api/v1/namespaces/default/configmaps';
const NODE_OBJECT = '/api/v1/nodes/edge-1';
let edge: Edge;

beforeAll(async () => {
  edge = await Edge.start({ front: true });
  await edge.admin.create(CONFIG_MAPS, configMap('shown', { a: 'b' }));
  await edge.allowReading('known', [{ group: '', resource: 'configmaps' }]);
});
afterEach(() => {
  edge.front.lie = () => false;
});
afterAll(() => edge.stop());

const statusOf = async (way: Way, path: string): Promise<number> => (await say(way, path)).status;

/** The API server answers no review of an invented token until `release`, so that the hub waits for all of them. */
function holdReviews(): { most: number; readonly tokens: string[]; release: () => void } {
  const held: (() => void)[] = [];
  let isReleased = false;
  const reviews = {
    most: 0,
    tokens: [] as string[],
    release: (): void => {
      isReleased = true;
      for (const end of held.splice(0)) end();
    },
  };
  edge.front.lie = (request, response) => {
    if (request.method !== 'POST' || !`${request.url}`.endsWith('/tokenreviews')) return false;
    let body = '';
    request.on('data', (part: Buffer) => {
      body += part.toString();
    });
    request.on('end', () => {
      const { spec } = JSON.parse(body) as { spec: { token: string } };
      reviews.tokens.push(spec.token);
      const isInvented = spec.token.startsWith('invented');
      const status = isInvented
        ? { authenticated: false }
        : { authenticated: true, user: { username: 'system:serviceaccount:default:known' } };
      const kind = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenReview' };
      const end = (): void => {
        response.setHeader('content-type', 'application/json');
        response.end(JSON.stringify({ ...kind, metadata: {}, spec: {}, status }));
      };
      if (!isInvented || isReleased) return end();
      held.push(end);
      reviews.most = Math.max(reviews.most, held.length);
    });
    return true;
  };
  return reviews;
}

/** Prints the status of each response. */
const INVENT = `
const [url, count] = process.argv.slice(1);
for (let i = 0; i < Number(count); i++)
  require('node:http').get(url, { agent: false, headers: { authorization: 'Bearer invented-by-another-' + i } }, (response) => {
    console.log(response.statusCode);
    response.resume();
  });
`;
const isRoot = process.getuid?.() === 0;
const OTHER_USER = 65_534;

/** A program that sends invented tokens over TCP, as another user if this one is allowed to become one. */
function inventTokens(count: number): TestProcess {
  const url = `http://127.0.0.1:${edge.ports.http}${MAPS}?resourceVersion=0`;
  const user = isRoot ? { uid: OTHER_USER, gid: OTHER_USER } : {};
  return new TestProcess([process.execPath, '-e', INVENT, '--', url, String(count)], { cwd: '/', ...user });
}

/** A way to the hub that the program above does not have. Without another user, that is the socket. */
const otherWay = (token: string): Way => ({
  ...edge.asBearer(token),
  ...(isRoot ? {} : { socketPath: edge.socket.socketPath! }),
});

it('a client that invents tokens causes few reviews at a time, and delays the clients with real tokens not at all', async () => {
  const known = await edge.token('known');
  expect(await statusOf(edge.asBearer(known), MAPS)).toBe(200);
  const reviews = holdReviews();
  const inventing = Array.from({ length: 80 }, (_, i) =>
    statusOf(
      { ...edge.asBearer(`invented-${i}`), socketPath: edge.socket.socketPath! },
      `${MAPS}?resourceVersion=0`,
    ),
  );
  let answered = 0;
  for (const each of inventing) void each.finally(() => answered++);
  // Four run, fifty wait, and the others are refused.
  await soon(() => expect(answered).toBe(26));
  // A new token of an account that the hub can verify is reviewed at once.
  expect(await statusOf(edge.asBearer(await edge.token('known')), `${MAPS}?resourceVersion=0`)).toBe(200);
  expect(await statusOf(edge.asNode, NODE_OBJECT)).toBe(404);
  reviews.release();
  const statuses = await Promise.all(inventing);
  expect(reviews.most).toBeLessThanOrEqual(4);
  expect(statuses.filter((status) => status === 401)).toHaveLength(54);
  expect(statuses.filter((status) => status === 429)).toHaveLength(26);
});

it('a user that invents tokens does not use up the reviews of other users', async () => {
  const reviews = holdReviews();
  const inventor = inventTokens(80);
  await inventor.until(({ stdout }) => stdout.split('429').length > 26);
  // The hub has never seen this token, and nothing in it shows whether it is valid. The API server refuses what it forwards.
  expect(await statusOf(otherWay('another-token'), `${MAPS}?resourceVersion=0`)).toBe(401);
  expect(reviews.tokens).toContain('another-token');
  expect(reviews.most).toBe(4);
  reviews.release();
  expect(await inventor.exited).toMatchObject({ code: 0 });
  expect(inventor.stdout.split('401')).toHaveLength(55);
});
