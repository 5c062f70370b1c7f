/**
 * The subresources `pods/exec`, `pods/attach` and `pods/portforward`: the node and the client agree on a protocol (SPDY or
 * WebSocket), and the server copies bytes between them.
 */
import { type IncomingHttpHeaders, type IncomingMessage, STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { ApiError, badRequest } from '@tidegate/serving';
import type { Pod } from '../resources/pod/types.ts';
import type { Connect } from '../resources/types.ts';
import { chooseContainer } from './container.ts';
import type { KubeletClient } from './kubelet-client.ts';
import { failureText } from './relay.ts';

/** Parameters of the API and their names in the kubelet. */
const FLAGS = [
  ['stdin', 'input'],
  ['stdout', 'output'],
  ['stderr', 'error'],
  ['tty', 'tty'],
] as const;

export const podStream =
  (kubelets: KubeletClient, action: 'exec' | 'attach' | 'portForward'): Connect =>
  async ({ parent, query, exchange, signal }) => {
    const pod = parent as Pod;
    const { namespace, name } = pod.metadata;
    const container =
      action === 'portForward' ? '' : `/${chooseContainer(pod, query.get('container') ?? '')}`;
    const nodeName = pod.spec.nodeName ?? '';
    if (nodeName === '') throw badRequest(`pod ${name} does not have a host assigned`);
    const { request, response } = exchange;
    if (request.headers.upgrade === undefined) throw badRequest('Upgrade request required');
    const wanted = {
      method: request.method === 'GET' ? ('GET' as const) : ('POST' as const),
      path: `/${action}/${namespace}/${name}${container}`,
      query: kubeletQuery(query),
      signal,
    };
    const { answer, connection } = await kubelets.upgrade(nodeName, wanted, handshake(request.headers));
    if (connection === undefined) throw new ApiError(answer.statusCode ?? 500, '', await failureText(answer));
    const client = request.socket;
    response.detachSocket(client);
    client.write(switching(answer));
    await copyBoth(client, connection);
  };

/** Only the headers with which the client and the node agree on a protocol. Credentials stay here. */
const HANDSHAKE = /^(upgrade|connection|sec-websocket-.*|x-stream-protocol-version)$/;

function handshake(headers: IncomingHttpHeaders): Record<string, string> {
  const kept = Object.entries(headers).filter(([name]) => HANDSHAKE.test(name));
  return Object.fromEntries(kept.map(([name, value]) => [name, String(value)]));
}

function switching({ statusCode = 101, headers }: IncomingMessage): string {
  const lines = Object.entries(handshake(headers)).map(([name, value]) => `${name}: ${value}`);
  return [`HTTP/1.1 ${statusCode} ${STATUS_CODES[statusCode]}`, ...lines, '', ''].join('\r\n');
}

/** Until both directions have ended. A connection that breaks ends the other one. */
async function copyBoth(client: Duplex, node: Duplex): Promise<void> {
  const broken = (): void => {
    client.destroy();
    node.destroy();
  };
  await Promise.all([pipeline(client, node).catch(broken), pipeline(node, client).catch(broken)]);
  broken();
}

function kubeletQuery(query: URLSearchParams): URLSearchParams {
  const wanted = new URLSearchParams();
  for (const word of query.getAll('command')) wanted.append('command', word);
  for (const [name, kubeletName] of FLAGS) {
    if (['1', 'true'].includes(query.get(name) ?? '')) wanted.set(kubeletName, '1');
  }
  return wanted;
}
