/** Calls webhooks over HTTPS. Errors have the words of Go's HTTP client, as users know them from kube-apiserver. */
import { Agent, request } from 'node:https';
import type { WebhookClientConfig } from '../../resources/webhooks/types.ts';
import type { ServiceResolver } from './service-resolver.ts';

/** The address of a webhook. `shown` is the address in errors: always with the port, even if it is 443. */
interface Callee {
  hostname: string;
  port: number;
  /** The `Host` header. */
  authority: string;
  path: string;
  shown: string;
  service: WebhookClientConfig['service'];
}

/**
 * Sends one POST per review and keeps connections open. There are no retries: the client of the API server can retry.
 */
export class WebhookTransport {
  readonly #resolve: ServiceResolver;
  /** Connections are reused only for the same address, authority and server name. */
  readonly #agent = new Agent({ keepAlive: true });

  constructor(resolve: ServiceResolver) {
    this.#resolve = resolve;
  }

  /** Throws `Post "url": reason`, or an error for a response that is not a success. */
  async post(config: WebhookClientConfig, body: object, timeoutSeconds: number): Promise<string> {
    const callee = calleeOf(config, `?timeout=${timeoutSeconds}s`);
    let answer: Answer;
    try {
      answer = await this.#exchange(callee, config.caBundle, JSON.stringify(body), timeoutSeconds);
    } catch (error) {
      throw new Error(`Post ${JSON.stringify(callee.shown)}: ${(error as Error).message}`, { cause: error });
    }
    if (answer.code >= 200 && answer.code <= 206) return answer.text;
    throw new Error(describeCode(answer.code, answer.text));
  }

  close(): void {
    this.#agent.destroy();
  }

  async #exchange(
    callee: Callee,
    caBundle: string | undefined,
    body: string,
    timeoutSeconds: number,
  ): Promise<Answer> {
    const { hostname, port, service } = callee;
    const place = service
      ? this.#resolve(service.namespace ?? '', service.name ?? '', port)
      : { host: hostname, port };
    const { promise, resolve, reject } = withResolvers<Answer>();
    const fail = (error: Error): void => reject(describeFailure(error, hostname));
    const outgoing = request({
      method: 'POST',
      agent: this.#agent,
      ...place,
      // The certificate of a Service is issued for its DNS name, not for the endpoint.
      ...(service ? { servername: hostname } : {}),
      path: callee.path,
      ...(caBundle ? { ca: Buffer.from(caBundle, 'base64') } : {}),
      headers: {
        host: callee.authority,
        accept: 'application/json, */*',
        'content-type': 'application/json',
        'content-length': Buffer.byteLength(body),
        'user-agent': 'kube-apiserver-admission',
      },
    });
    // The timeout covers the whole call, including connecting and reading the response.
    const timer = setTimeout(
      () => outgoing.destroy(new Error('context deadline exceeded')),
      timeoutSeconds * 1000,
    );
    outgoing.on('close', () => clearTimeout(timer));
    outgoing.on('error', fail);
    outgoing.on('response', (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('error', fail);
      response.on('end', () =>
        resolve({ code: response.statusCode ?? 0, text: Buffer.concat(chunks).toString('utf8') }),
      );
    });
    outgoing.end(body);
    return promise;
  }
}

interface Answer {
  code: number;
  text: string;
}

function calleeOf({ url, service }: WebhookClientConfig, query: string): Callee {
  if (service !== undefined) {
    const hostname = `${service.name}.${service.namespace}.svc`;
    const port = service.port ?? 443;
    const path = `/${(service.path ?? '').replace(/^\//, '')}${query}`;
    const authority = `${hostname}:${port}`;
    return { hostname, port, authority, path, shown: `https://${authority}${path}`, service };
  }
  if (!url) throw new Error('webhook configuration must have either service or URL');
  const { hostname, port, host, pathname } = new URL(url);
  return {
    hostname: hostname.replace(/^\[|\]$/g, ''),
    port: port === '' ? 443 : Number(port),
    authority: host,
    path: `${pathname}${query}`,
    shown: `https://${host}${pathname}${query}`,
    service: undefined,
  };
}

function withResolvers<T>(): {
  promise: Promise<T>;
  resolve: (value: T) => void;
  reject: (error: Error) => void;
} {
  let resolve!: (value: T) => void;
  let reject!: (error: Error) => void;
  const promise = new Promise<T>((yes, no) => {
    resolve = yes;
    reject = no;
  });
  return { promise, resolve, reject };
}

const UNKNOWN_AUTHORITY = new Set([
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
]);

interface NetworkError extends Error {
  code?: string;
  address?: string;
  port?: number;
  cert?: { subjectaltname?: string };
}

/** Translates errors of Node into those of Go's HTTP client. */
function describeFailure(error: NetworkError, hostname: string): Error {
  const { code = '', address, port } = error;
  const tls = (why: string): Error =>
    new Error(`tls: failed to verify certificate: x509: ${why}`, { cause: error });
  if (UNKNOWN_AUTHORITY.has(code)) return tls('certificate signed by unknown authority');
  switch (code) {
    case 'ECONNREFUSED': {
      const where = address?.includes(':') ? `[${address}]:${port}` : `${address}:${port}`;
      return new Error(`dial tcp ${where}: connect: connection refused`, { cause: error });
    }
    case 'ENOTFOUND':
      return new Error(`dial tcp: lookup ${hostname}: no such host`, { cause: error });
    case 'ECONNRESET':
      return new Error('EOF', { cause: error });
    case 'ERR_TLS_CERT_ALTNAME_INVALID': {
      const names = (error.cert?.subjectaltname ?? '').replace(/(DNS|IP Address):/g, '');
      return tls(`certificate is valid for ${names}, not ${hostname}`);
    }
    case 'EPROTO':
      return new Error('http: server gave HTTP response to HTTPS client', { cause: error });
    case 'CERT_HAS_EXPIRED':
      return tls('certificate has expired or is not yet valid');
    default:
      return error;
  }
}

/** The words of client-go for an unsuccessful response without a Status. */
function describeCode(code: number, text: string): string {
  switch (code) {
    case 400:
      return 'the server rejected our request for an unknown reason';
    case 401:
      return 'the server has asked for the client to provide credentials';
    case 403:
      return text.trim() || 'unknown';
    case 404:
      return 'the server could not find the requested resource';
    case 405:
      return 'the server does not allow this method on the requested resource';
    case 429:
      return 'the server has received too many requests and has asked us to try again later';
    case 503:
      return 'the server is currently unable to handle the request';
    case 504:
      return 'the server was unable to return a response in the time allotted, but may still be processing the request';
    default:
      return code >= 500
        ? `an error on the server (${JSON.stringify(text.trim())}) has prevented the request from succeeding`
        : `the server responded with the status code ${code} but did not return more information`;
  }
}
