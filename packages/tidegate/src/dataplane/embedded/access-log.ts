import { createWriteStream, type WriteStream } from 'node:fs';
import type { Logger } from '@tidegate/kube';
import type { AccessLogEntry } from '../access-log.ts';
import type { Exchange } from './exchange.ts';

/** What waits for a disk that does not keep up. Beyond it lines are lost: requests do not wait for their log. */
const MOST_WAITING_BYTES = 16 * 1024 * 1024;

/** Appends to a file, one line for each request. */
export class AccessLog {
  readonly #stream: WriteStream;

  constructor(path: string, log: Logger) {
    this.#stream = createWriteStream(path, { flags: 'a', mode: 0o600 });
    this.#stream.on('error', (error) => log.error({ err: error, path }, 'the access log can not be written'));
  }

  write(entry: AccessLogEntry): void {
    if (this.#stream.writableLength < MOST_WAITING_BYTES) this.#stream.write(`${JSON.stringify(entry)}\n`);
  }

  async close(): Promise<void> {
    if (this.#stream.destroyed) return;
    await new Promise<void>((resolve) => this.#stream.end(resolve));
  }
}

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
