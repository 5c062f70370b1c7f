import { isIP } from 'node:net';
import type { Logger } from '@tidegate/kube';
import { fillUrl, type Mirror } from '../../ingress/policy/index.ts';
import type { DriverOptions } from '../driver.ts';
import { MAX_MIRRORED, MAX_MIRRORED_BODY_BYTES } from '../limits.ts';
import { isLoop, LOOP_HEADER, marked } from '../loops.ts';
import { askServer } from './ask-server.ts';
import type { RequestBody } from './body.ts';
import type { Exchange } from './exchange.ts';
import { eachHeader, type FlatHeaders, headerOf } from './flat-headers.ts';
import { requestHeaders } from './headers.ts';
import type { Upstreams } from './upstreams.ts';

/** Sends copies of requests, as `mirror.lua` does for nginx. Clients do not wait for them. */
export class Mirrors {
  readonly #upstreams: Upstreams;
  readonly #defaults: DriverOptions['defaults'];
  readonly #mark: string;
  readonly #log: Logger;
  readonly #open = new Set<AbortController>();

  /** `mark` is that of requests that the router sends itself. */
  constructor(
    upstreams: Upstreams,
    deps: { defaults: DriverOptions['defaults']; mark: string; log: Logger },
  ) {
    this.#upstreams = upstreams;
    this.#defaults = deps.defaults;
    this.#mark = deps.mark;
    this.#log = deps.log;
  }

  /** Resolves when the body is complete, if the copy has one. `body` is that of the request. */
  async copy(mirror: Mirror, exchange: Exchange, body: RequestBody | undefined): Promise<void> {
    const member = this.#upstreams.get(mirror.upstream)?.pick(new Set(), performance.now());
    if (member === undefined || exchange.upgrade !== undefined) return;
    if (isLoop(headerOf(exchange.request.rawHeaders, LOOP_HEADER), this.#mark)) {
      this.#log.warn(
        { server: member.name, host: exchange.matched?.name },
        'the server that gets copies of requests leads back to this router',
      );
      return;
    }
    if (this.#open.size >= MAX_MIRRORED) {
      this.#log.warn(
        { server: member.name },
        'too many copies of requests are on their way; not sending one',
      );
      return;
    }
    const hasBody = mirror.withBody && body !== undefined;
    if (hasBody && !(contentLength(exchange) <= MAX_MIRRORED_BODY_BYTES)) return;
    const bytes = hasBody ? await body.keep() : undefined;
    const { secure, target, host: authority = '', matched } = exchange;
    const { service } = this.#upstreams.get(mirror.upstream)?.upstream ?? { service: '' };
    const gone = new AbortController();
    this.#open.add(gone);
    askServer(
      {
        ...member.endpoint,
        servername: mirror.secure ? (isIP(service) === 0 ? service : '') : undefined,
        method: exchange.method,
        target: fillUrl(mirror.target, { secure, target, authority, name: matched?.name ?? '' }),
        headers: headersOf(mirror, exchange, this.#mark),
        ...(bytes && { body: Buffer.concat(bytes) }),
        connectTimeoutMs: this.#defaults.connectTimeoutMs,
        readTimeoutMs: this.#defaults.readTimeoutMs,
        signal: gone.signal,
      },
      undefined,
    )
      .catch((error: unknown) => {
        if (!gone.signal.aborted)
          this.#log.warn({ server: member.name, err: error }, 'cannot send the copy of a request');
      })
      .finally(() => this.#open.delete(gone));
  }

  /** Ends the copies that are on their way. */
  close(): void {
    for (const each of this.#open) each.abort();
  }
}

const contentLength = ({ request }: Exchange): number =>
  Number(request.headers['content-length'] ?? Number.NaN);

function headersOf({ host }: Mirror, exchange: Exchange, mark: string): FlatHeaders {
  const result: FlatHeaders = ['Host', host];
  eachHeader(requestHeaders(exchange), (name, value, lower) => {
    if (lower !== 'host' && lower !== 'content-length' && lower !== LOOP_HEADER) result.push(name, value);
  });
  result.push(LOOP_HEADER, marked(headerOf(exchange.request.rawHeaders, LOOP_HEADER), mark));
  return result;
}
