/**
 * Passes connections between the agents of a machine, over a unix socket in the state directory of each node. The first
 * line names the ClusterIP and the client: `127.128.0.10:80 127.0.0.1`. All bytes after it belong to the connection.
 */
import { type FileHandle, open, rm } from 'node:fs/promises';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { join } from 'node:path';
import { join as joinSockets } from '../nodeport/forwarder.ts';

const SOCKET = 'cluster-ips.sock';
const MAX_LINE_BYTES = 200;

/** A connection that another agent accepted. */
export interface Handed {
  /** `address:port`. */
  target: string;
  client: string;
  connection: Socket;
}

/** Accepts the connections that other agents pass to this node. */
export class HandoverServer {
  readonly #server: Server;
  readonly #directory: FileHandle;
  readonly #sockets = new Set<Socket>();

  private constructor(server: Server, directory: FileHandle) {
    this.#server = server;
    this.#directory = directory;
    server.on('connection', (socket) => {
      this.#sockets.add(socket);
      socket.once('close', () => this.#sockets.delete(socket));
    });
  }

  static async listen(stateDirectory: string, onHanded: (handed: Handed) => void): Promise<HandoverServer> {
    await rm(join(stateDirectory, SOCKET), { force: true });
    // Without its directory, the node has stopped for good.
    const directory = await open(stateDirectory);
    const options = { allowHalfOpen: true, pauseOnConnect: true };
    const server = createServer(options, (socket) => readLine(socket, onHanded));
    const handover = new HandoverServer(server, directory);
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(pathIn(directory), resolve);
    });
    return handover;
  }

  async close(): Promise<void> {
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    for (const socket of this.#sockets) socket.destroy();
    await closed;
    await this.#directory.close();
  }
}

/** The path of a unix socket must be shorter than 108 bytes, and state directories can have any length. */
const pathIn = ({ fd }: FileHandle): string => `/proc/self/fd/${fd}/${SOCKET}`;

function readLine(connection: Socket, onHanded: (handed: Handed) => void): void {
  let received = Buffer.alloc(0);
  connection.on('error', () => connection.destroy());
  const onData = (chunk: Buffer): void => {
    received = Buffer.concat([received, chunk]);
    const end = received.indexOf('\n');
    if (end < 0) {
      if (received.length > MAX_LINE_BYTES) connection.destroy();
      return;
    }
    connection.off('data', onData);
    connection.pause();
    if (received.length > end + 1) connection.unshift(received.subarray(end + 1));
    const [target = '', client = ''] = received.toString('utf8', 0, end).split(' ');
    onHanded({ target, client, connection });
  };
  connection.on('data', onData);
  connection.resume();
}

/** Passes a paused connection to the node with this state directory. Calls `onFailed` when its agent does not answer. */
export async function handOver(
  stateDirectory: string,
  target: string,
  client: Socket,
  onFailed: () => void,
): Promise<void> {
  // Without its directory, the node has stopped for good.
  const directory = await open(stateDirectory).catch(() => undefined);
  if (directory === undefined) return onFailed();
  const agent = connect({ path: pathIn(directory), allowHalfOpen: true });
  const settled = (): void => void directory.close();
  agent.once('error', () => {
    settled();
    onFailed();
  });
  agent.once('connect', () => {
    settled();
    agent.removeAllListeners('error');
    agent.write(`${target} ${client.remoteAddress ?? ''}\n`);
    joinSockets(client, agent);
  });
}
