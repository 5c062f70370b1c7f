import { type IncomingMessage, STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import type { Credential } from '@tidegate/kube';
import { untilClosed } from '@tidegate/serving';
import type { Dispatcher } from 'undici';
import { forwardedRequestHeaders, forwardedResponseHeaders, type ResponseHeaders } from './headers.ts';

export interface ClientUpgrade {
  request: IncomingMessage;
  socket: Duplex;
  /** What the client has sent behind its request. */
  head: Buffer;
}

type Controller = Dispatcher.DispatchController;

/**
 * A connection that is to become something else: exec, attach, port-forward. When the server agrees, bytes go to and
 * fro until either side is done; when it does not, the client gets its answer, and the connection ends.
 *
 * Resolves when it is over. Rejects only when nothing was said to the client yet.
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
    const onGone = (): void => controller?.abort(new Error('the client is gone'));
    socket.once('close', onGone);
    socket.on('error', onGone);
    dispatcher.dispatch(
      {
        origin: 'http://the-server-that-is-chosen',
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

/** An answer on a connection that Node's HTTP server has let go of. */
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

/** pipe() waits for whoever is slower, and passes an end on without closing the other direction. */
function tunnel({ socket: client, head }: ClientUpgrade, server: Duplex): Promise<void> {
  server.allowHalfOpen = true;
  client.allowHalfOpen = true;
  server.write(head);
  client.pipe(server);
  server.pipe(client);
  return Promise.all([untilClosed(client, server), untilClosed(server, client)]).then(() => {});
}
