/**
 * Requests that become streams: `kubectl exec` and `kubectl port-forward`. The API server passes on the request and then
 * the bytes, so both protocols of kubectl arrive here: SPDY (before 1.31) and WebSocket.
 */
import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import type { Pod } from '@tidegate/kube';
import { createWebSocketStream, type WebSocket, WebSocketServer } from 'ws';
import type { Inside, NodePods } from '../../contracts.ts';
import { RequestError } from '../request-error.ts';
import type { Channels, Wanted } from './channels.ts';
import { exec } from './exec.ts';
import { forwardPorts, PORT_FORWARD_PROTOCOL, TUNNEL_PROTOCOL } from './port-forward.ts';
import { SPDY_PROTOCOL, spdyChannels } from './spdy-channels.ts';
import { CHANNEL_PROTOCOLS, webSocketChannels } from './websocket-channels.ts';

/** A request to upgrade its connection. */
export interface Upgrade {
  request: IncomingMessage;
  socket: Duplex;
  /** What the client has already sent after the request. */
  head: Buffer;
}

/** Serves one session to its end. Throws a RequestError before the protocol is switched. */
export async function serveUpgrade(pods: NodePods, upgrade: Upgrade): Promise<void> {
  const { pathname, searchParams } = new URL(upgrade.request.url ?? '/', 'https://node');
  const [action, namespace = '', name = '', container = ''] = pathname
    .split('/')
    .slice(1)
    .map(decodeURIComponent);
  const found = pods.find(namespace, name);
  if (found === undefined) throw new RequestError(404, `pod ${JSON.stringify(name)} does not exist`);
  switch (action) {
    case 'exec': {
      const words = searchParams.getAll('command');
      if (words.length === 0) throw new RequestError(400, 'you must specify at least 1 command');
      const inside = insideOf(pods, found.pod, container);
      const wanted = wantedOf(searchParams);
      return exec(inside, words, await channelsOf(upgrade, wanted), wanted.tty);
    }
    case 'portForward':
      return forwardPorts(await tunnelOf(upgrade), podIPOf(found.pod));
    default:
      throw new RequestError(
        501,
        `${action} is not supported: the pods of this cluster are processes of this machine`,
      );
  }
}

function insideOf(pods: NodePods, pod: Pod, container: string): Inside {
  const { containerStatuses = [], initContainerStatuses = [] } = pod.status ?? {};
  const status = [...initContainerStatuses, ...containerStatuses].find(({ name }) => name === container);
  if (status?.state?.running === undefined)
    throw new RequestError(500, `container not found (${JSON.stringify(container)})`);
  const inside = pods.inside(pod, container);
  if (inside !== undefined) return inside;
  throw new RequestError(
    501,
    `exec is not supported for container ${JSON.stringify(container)}: it does not run its own command. Start the cluster with \`tidegate up --run-commands\`, and set the command of the container`,
  );
}

function podIPOf({ metadata, status }: Pod): string {
  if (status?.podIP !== undefined && status.phase === 'Running') return status.podIP;
  throw new RequestError(500, `pod ${metadata.name} is not running`);
}

function wantedOf(query: URLSearchParams): Wanted {
  const isSet = (name: string): boolean => query.get(name) === '1';
  const tty = isSet('tty');
  // A terminal has one output.
  return { stdin: isSet('input'), stdout: isSet('output'), stderr: isSet('error') && !tty, tty };
}

async function channelsOf(upgrade: Upgrade, wanted: Wanted): Promise<Channels> {
  if (isSpdy(upgrade)) {
    acceptSpdy(upgrade, SPDY_PROTOCOL);
    return spdyChannels(upgrade.socket, wanted);
  }
  return webSocketChannels(await acceptWebSocket(upgrade, CHANNEL_PROTOCOLS), wanted);
}

async function tunnelOf(upgrade: Upgrade): Promise<Duplex> {
  if (!isSpdy(upgrade)) return createWebSocketStream(await acceptWebSocket(upgrade, [TUNNEL_PROTOCOL]));
  acceptSpdy(upgrade, PORT_FORWARD_PROTOCOL);
  return upgrade.socket;
}

const isSpdy = ({ request }: Upgrade): boolean => request.headers.upgrade?.toLowerCase() === 'spdy/3.1';

function acceptSpdy({ request, socket, head }: Upgrade, protocol: string): void {
  const header = request.headers['x-stream-protocol-version'] ?? '';
  const offered = String(header).split(/,\s*/);
  if (!offered.includes(protocol)) {
    throw new RequestError(
      403,
      `unable to negotiate protocol: client supports [${offered.join(' ')}], server supports [${protocol}]`,
    );
  }
  socket.write(
    `HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\nX-Stream-Protocol-Version: ${protocol}\r\n\r\n`,
  );
  if (head.length > 0) socket.unshift(head);
}

function acceptWebSocket({ request, socket, head }: Upgrade, protocols: string[]): Promise<WebSocket> {
  const offered = (request.headers['sec-websocket-protocol'] ?? '').split(/,\s*/);
  const protocol = protocols.find((one) => offered.includes(one));
  if (request.headers.upgrade?.toLowerCase() !== 'websocket' || protocol === undefined) {
    throw new RequestError(
      400,
      `the client must use SPDY/3.1, or a WebSocket with one of the protocols ${protocols.join(', ')}`,
    );
  }
  const server = new WebSocketServer({ noServer: true, handleProtocols: () => protocol });
  return new Promise((resolve) => server.handleUpgrade(request, socket, head, resolve));
}
