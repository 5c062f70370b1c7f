/** A hub that shuts down while clients send requests. */
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { accountToken } from '../support/accounts.ts';
import { Edge } from '../support/edge.ts';

let edge: Edge;
beforeEach(async () => {
  edge = await Edge.start({ front: true });
});
afterEach(() => edge.stop());

it('answers a pending request with 503', async () => {
  expect(await answerWhenItStops(await edge.token('app'))).toContain('the hub is shutting down');
});

it('answers a request with 503 whose token the API server is still reviewing', async () => {
  const token = await accountToken(edge.admin, 'app', 'default', ['vault']);
  edge.front.lie = ({ headers }) => headers.authorization === `Bearer ${token}`;
  expect(await answerWhenItStops(token)).toContain('the hub is shutting down');
});

/** Sends the head of a request, restarts the hub, and returns all that the client has received. */
async function answerWhenItStops(token: string): Promise<string> {
  const socket = connect(edge.hub.ports.http, '127.0.0.1');
  const closed = new Promise((resolve) => socket.once('close', resolve));
  let received = '';
  socket.on('data', (chunk: Buffer) => {
    received += chunk.toString();
    if (received.includes('503')) socket.destroy();
  });
  const head = [
    'POST /api/v1/namespaces/default/configmaps HTTP/1.1',
    'Host: hub',
    `Authorization: Bearer ${token}`,
    'Content-Type: application/json',
    'Content-Length: 1000',
    'Expect: 100-continue',
  ];
  socket.write(`${head.join('\r\n')}\r\n\r\n`);
  while (!received.includes('100 Continue')) await sleep(10);
  await edge.restartHub();
  await closed;
  expect(received).toContain('HTTP/1.1 503');
  return received;
}
