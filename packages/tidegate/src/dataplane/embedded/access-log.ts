import { createWriteStream, type WriteStream } from 'node:fs';
import type { Logger } from '@tidegate/kube';
import type { AccessLogEntry } from '../access-log.ts';
import type { Exchange } from './exchange.ts';

/** The limit of lines that wait for a slow disk. Beyond it lines are dropped: a request never waits for the log. */
const MAX_BUFFERED_BYTES = 16 * 1024 * 1024;

/** Appends one line per request to a file. */
export class AccessLog {
  readonly #stream: WriteStream;

  constructor(path: string, log: Logger) {
    this.#stream = createWriteStream(path, { flags: 'a', mode: 0o600 });
    this.#stream.on('error', (error) => log.error({ err: error, path }, 'cannot write the access log'));
  }

  write(entry: AccessLogEntry): void {
    if (this.#stream.writableLength < MAX_BUFFERED_BYTES) this.#stream.write(`${JSON.stringify(entry)}\n`);
  }

  async close(): Promise<void> {
    if (this.#stream.destroyed) return;
    await new Promise<void>((resolve) => this.#stream.end(resolve));
  }
}

/** The line of the access log for a finished request. */
export function entryOf(
  exchange: Exchange,
  { className, seconds }: { className: string; seconds: number },
): AccessLogEntry {
  const { request, matched, upstream } = exchange;
  const source = matched?.action.source;
  return {
    time: new Date().toISOString(),
    requestId: exchange.id,
    client: exchange.client,
    class: className,
    scheme: exchange.secure ? 'https' : 'http',
    method: exchange.method,
    host: exchange.host ?? '',
    target: exchange.target,
    protocol: `HTTP/${request.httpVersion}`,
    status: exchange.status,
    bytes: exchange.sentBytes,
    seconds,
    ingress: source === undefined ? '' : `${source.namespace}/${source.name}`,
    service: upstream === undefined ? '' : `${upstream.namespace}/${upstream.service}`,
    endpoints: exchange.endpoints.join(', '),
    userAgent: request.headers['user-agent'] ?? '',
  };
}
