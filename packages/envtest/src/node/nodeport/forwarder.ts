import { connect, createServer, type Server, type Socket } from 'node:net';
import type { Endpoint } from './targets.ts';

/** Chooses the endpoint of a connection. */
export interface Choice {
  candidates(client: string): Endpoint[];
  chosen(client: string, endpoint: Endpoint): void;
}

/** Serves a new connection or passes it on: calls `serve`, or leaves the connection to another agent. */
export type Route = (client: Socket, serve: () => void) => void;

/** On one machine, an endpoint accepts immediately or never. */
const CONNECT_TIMEOUT_MS = 3_000;

/** One listener that forwards every connection to an endpoint. */
export class Forwarder {
  readonly #choice: Choice;
  readonly #route: Route | undefined;
  readonly #server: Server;
  /** Both sockets of every connection. */
  readonly #sockets = new Set<Socket>();

  /** `onError` is called when connections cannot be accepted, for example when file descriptors run out. */
  constructor(choice: Choice, onError: (error: Error) => void, route?: Route) {
    this.#choice = choice;
    this.#route = route;
    // Half-open: each direction ends on its own. Paused: nothing is read until an endpoint is connected.
    this.#server = createServer({ allowHalfOpen: true, pauseOnConnect: true, noDelay: true }, (client) =>
      this.#accept(client),
    );
    this.#server.on('error', onError);
  }

  listen(port: number, address: string): Promise<void> {
    const server = this.#server;
    return new Promise((resolve, reject) => {
      const end = (): void => {
        server.off('error', failed);
        server.off('listening', listening);
      };
      const failed = (error: Error): void => {
        end();
        reject(error);
      };
      const listening = (): void => {
        end();
        resolve();
      };
      server.once('error', failed);
      server.once('listening', listening);
      server.listen(port, address);
    });
  }

  /** Accepts no new connections; resolves when the last one has ended, which is up to the clients. */
  stopListening(): Promise<void> {
    return new Promise((resolve) => this.#server.close(() => resolve()));
  }

  /** Also ends all connections. */
  close(): void {
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
  }

  #accept(client: Socket): void {
    this.#own(client);
    // The client may disconnect before an endpoint is connected.
    client.on('error', () => client.destroy());
    const serve = (): void => this.serve(client, client.remoteAddress ?? '');
    if (this.#route === undefined) serve();
    else this.#route(client, serve);
  }

  /** Connects a client to an endpoint. `name` identifies the client for session affinity. */
  serve(client: Socket, name: string): void {
    this.#own(client);
    this.#connectFirst(client, name, this.#choice.candidates(name));
  }

  /** Tries the endpoints in order. When none accepts, the client gets a reset, as from a closed port. */
  #connectFirst(client: Socket, name: string, [endpoint, ...others]: Endpoint[]): void {
    if (client.destroyed) return;
    if (endpoint === undefined) {
      reset(client);
      return;
    }
    const upstream = connect({
      host: endpoint.address,
      port: endpoint.port,
      allowHalfOpen: true,
      noDelay: true,
    });
    this.#own(upstream);
    const nextOne = (): void => {
      upstream.destroy();
      this.#connectFirst(client, name, others);
    };
    upstream.setTimeout(CONNECT_TIMEOUT_MS, nextOne);
    upstream.once('error', nextOne);
    upstream.once('connect', () => {
      upstream.setTimeout(0);
      upstream.off('error', nextOne);
      if (client.destroyed) {
        upstream.destroy();
        return;
      }
      this.#choice.chosen(name, endpoint);
      join(client, upstream);
    });
  }

  #own(socket: Socket): void {
    this.#sockets.add(socket);
    socket.once('close', () => this.#sockets.delete(socket));
  }
}

/** Copies both directions with backpressure; an end or a reset on one side is passed on to the other. */
export function join(client: Socket, upstream: Socket): void {
  for (const [from, to] of [
    [client, upstream],
    [upstream, client],
  ] as const) {
    from.pipe(to);
    from.on('error', () => reset(to));
    from.once('close', () => {
      if (!from.readableEnded) to.destroy();
    });
  }
}

/** Closes a connection as a closed port does. A unix socket, over which another agent passed it on, can only end. */
export function reset(socket: Socket): void {
  if (socket.remoteFamily === undefined) socket.destroy();
  else socket.resetAndDestroy();
}
