import { type IncomingMessage, STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import type { Credential } from '@tidegate/kube';
import { untilClosed } from '@tidegate/serving';
import type { Dispatcher } from 'undici';
import { forwardedRequestHeaders, forwardedResponseHeaders, type ResponseHeaders } from './headers.ts';

/** A client's Upgrade request, as Node's HTTP server reports it. */
export interface ClientUpgrade {
  request: IncomingMessage;
  socket: Duplex;
  /** Data that the client sent after its request. */
  head: Buffer;
}

type Controller = Dispatcher.DispatchController;

/**
 * Forwards a request to upgrade the connection: exec, attach, port-forward. If the server agrees, data is
 * copied in both directions until both sides have closed. If it does not, the client gets the response of the
 * server, and the connection is closed.
 *
 * Resolves when the connection is closed. Rejects only if nothing was sent to the client yet.
 */
export function upgrade(
  dispatcher: Dispatcher,
  { authorization }: Credential,
  client: ClientUpgrade,
): Promise<void> {
  const { request, socket } = client;
  return new Promise((resolve, reject) => {
    let controller: Controller | undefined;
    let answering = false;
    const onGone = (): void => controller?.abort(new Error('the client has disconnected'));
    socket.once('close', onGone);
    socket.on('error', onGone);
    dispatcher.dispatch(
      {
        // A placeholder: FailoverExchange replaces it with the chosen server.
        origin: 'http://chosen-server.invalid',
        path: request.url ?? '/',
        method: request.method ?? 'GET',
        upgrade: request.headers.upgrade ?? '',
        headers: {
          ...forwardedRequestHeaders(request.headersDistinct),
          ...(authorization === undefined ? {} : { authorization }),
        },
        headersTimeout: 0,
        bodyTimeout: 0,
      },
      {
        onRequestStart(started) {
          controller = started;
          if (socket.destroyed) onGone();
        },
        onRequestUpgrade(_, status, headers, server) {
          socket.off('close', onGone);
          writeHead(socket, status, switchingHeaders(headers));
          tunnel(client, server).then(resolve);
        },
        onResponseStart(_, status, headers) {
          if (status < 200) return;
          answering = true;
          writeHead(socket, status, { ...forwardedResponseHeaders(headers), connection: 'close' });
        },
        onResponseData(current, chunk) {
          if (socket.write(chunk)) return;
          current.pause();
          socket.once('drain', () => current.resume());
        },
        onResponseEnd() {
          socket.off('close', onGone);
          socket.end(resolve);
        },
        onResponseError(_, error) {
          if (answering || socket.destroyed) {
            socket.destroy();
            resolve();
          } else {
            reject(error);
          }
        },
      },
    );
  });
}

/** Writes the head of a response to a connection that Node's HTTP server no longer manages. */
export function writeHead(socket: Duplex, status: number, headers: ResponseHeaders): void {
  const lines = Object.entries(headers).flatMap(([name, values]) =>
    [values].flat().map((value) => `${name}: ${value}`),
  );
  socket.write([`HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}`, ...lines, '', ''].join('\r\n'), 'latin1');
}

const switchingHeaders = (headers: Record<string, string | string[] | undefined>): ResponseHeaders => ({
  ...forwardedResponseHeaders(headers),
  connection: 'Upgrade',
  ...(headers.upgrade === undefined ? {} : { upgrade: headers.upgrade }),
});

/**
 * Copies data in both directions. `pipe` applies backpressure. If one side ends its direction, the other
 * direction stays open: a client of exec may close stdin and still read stdout.
 */
function tunnel({ socket: client, head }: ClientUpgrade, server: Duplex): Promise<void> {
  server.allowHalfOpen = true;
  client.allowHalfOpen = true;
  server.write(head);
  client.pipe(server);
  server.pipe(client);
  return Promise.all([untilClosed(client, server), untilClosed(server, client)]).then(() => {});
}
