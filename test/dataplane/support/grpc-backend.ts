import { createServer, type Http2Server, type ServerHttp2Session, type ServerHttp2Stream } from 'node:http2';
import type { AddressInfo } from 'node:net';

/** A gRPC message: a zero byte (not compressed), the length in four bytes, then the data. */
export function grpcFrame(text: string): Buffer {
  const head = Buffer.alloc(5);
  head.writeUInt32BE(Buffer.byteLength(text), 1);
  return Buffer.concat([head, Buffer.from(text)]);
}

/** A gRPC server over HTTP/2 without TLS that returns the messages it receives. Some paths fail on purpose. */
export class GrpcBackend {
  readonly #sessions = new Set<ServerHttp2Session>();
  readonly #server: Http2Server = createServer();

  constructor() {
    this.#server.on('session', (session) => {
      this.#sessions.add(session);
      session.once('close', () => this.#sessions.delete(session));
    });
    this.#server.on('stream', (stream, headers) => {
      stream.on('error', () => {});
      if (headers[':path'] === '/slow') return;
      if (headers[':path'] === '/echo.Echo/Refuse') {
        stream.respond(
          { ':status': 200, 'content-type': 'application/grpc', 'grpc-status': '7' },
          { endStream: true },
        );
        return;
      }
      if (headers[':path'] === '/echo.Echo/Break') {
        stream.respond({ ':status': 200, 'content-type': 'application/grpc' });
        stream.write(grpcFrame('half'), () => stream.session?.destroy());
        return;
      }
      echo(stream, {
        'x-seen': headers['x-custom'],
        'x-te': headers.te,
        'x-path': headers[':path'],
        'x-authority': headers[':authority'],
        'x-names': Object.keys(headers).join(),
      });
    });
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  start(): Promise<void> {
    return new Promise((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
  }

  stop(): Promise<void> {
    for (const session of this.#sessions) session.destroy();
    return new Promise((resolve) => this.#server.close(() => resolve()));
  }
}

function echo(stream: ServerHttp2Stream, seen: Record<string, string | string[] | undefined>): void {
  stream.respond({ ':status': 200, 'content-type': 'application/grpc', ...seen }, { waitForTrailers: true });
  stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0', 'grpc-message': 'fine' }));
  stream.pipe(stream);
}
