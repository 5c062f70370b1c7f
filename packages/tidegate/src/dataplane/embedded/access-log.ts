import { createWriteStream, type WriteStream } from 'node:fs';
import type { Logger } from '@tidegate/kube';
import type { AccessLogEntry } from '../access-log.ts';
import type { RouterLabels } from '../traffic-metrics.ts';
import type { Exchange } from './exchange.ts';

/** The limit of lines that wait for a slow disk. Beyond it lines are dropped: a request never waits for the log. */
const MAX_BUFFERED_BYTES = 16 * 1024 * 1024;

/** After a failure, the file is opened again this much later. */
const RETRY_MS = 1000;

/**
 * Appends one line per request to a file. If the file cannot be written, for example because the disk is full, lines are
 * dropped and counted until it can.
 */
export class AccessLog {
  readonly #path: string;
  readonly #log: Logger;
  /** Undefined after a failure, until the file is opened again. */
  #stream: WriteStream | undefined;
  #timer: NodeJS.Timeout | undefined;
  #failing = false;
  #lost = 0;

  constructor(path: string, log: Logger) {
    this.#path = path;
    this.#log = log;
    this.#stream = this.#open();
  }

  write(entry: AccessLogEntry): void {
    if (this.#stream === undefined || this.#stream.writableLength >= MAX_BUFFERED_BYTES) this.#lost += 1;
    else this.#append(this.#stream, `${JSON.stringify(entry)}\n`);
  }

  async close(): Promise<void> {
    clearTimeout(this.#timer);
    const stream = this.#stream;
    this.#stream = undefined;
    if (stream === undefined || stream.destroyed) return;
    await new Promise<void>((resolve) => stream.end(resolve));
  }

  #open(): WriteStream {
    const stream = createWriteStream(this.#path, { flags: 'a', mode: 0o600 });
    stream.on('error', (error) => this.#failed(stream, error));
    return stream;
  }

  #append(stream: WriteStream, text: string): void {
    stream.write(text, (error) => {
      if (error) this.#lost += 1;
      else this.#succeeded();
    });
  }

  /** Only the beginning and the end of a failure are logged. */
  #failed(stream: WriteStream, err: Error): void {
    if (!this.#failing)
      this.#log.error(
        { err, path: this.#path },
        'cannot write the access log; dropping lines until it works',
      );
    this.#failing = true;
    // A stream that `close` ends is not replaced.
    if (this.#stream !== stream) return;
    this.#stream = undefined;
    this.#timer = setTimeout(() => {
      this.#stream = this.#open();
      // The last line may be incomplete. This also shows whether the disk accepts writes.
      this.#append(this.#stream, '\n');
    }, RETRY_MS);
  }

  #succeeded(): void {
    if (!this.#failing) return;
    this.#failing = false;
    this.#log.warn(
      { path: this.#path, lines: this.#lost },
      'the access log is written again; lines were lost',
    );
    this.#lost = 0;
  }
}

/** The line of the access log for a finished request. */
export function entryOf(
  exchange: Exchange,
  { className, router, seconds }: RouterLabels & { seconds: number },
): AccessLogEntry {
  const { request, matched, upstream } = exchange;
  const source = matched?.action.source;
  return {
    time: new Date().toISOString(),
    requestId: exchange.id,
    client: exchange.client,
    class: className,
    router,
    scheme: exchange.scheme,
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
