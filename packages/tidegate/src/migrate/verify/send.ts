import { createHash } from 'node:crypto';
import { request as plainRequest } from 'node:http';
import { request as secureRequest } from 'node:https';
import type { TestRequest } from '../requests.ts';

/** Where a controller listens. */
export interface Side {
  readonly http: Address;
  /** Undefined: no requests over HTTPS. */
  readonly https: Address | undefined;
}

export interface Address {
  readonly address: string;
  readonly port: number;
}

/** What is compared. */
export interface Received {
  readonly status: number;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  /** SHA-256 of the body. */
  readonly body: string;
  /** SHA-256 of the certificate, over HTTPS. */
  readonly certificate?: string;
}

/** Beyond it, the digest is that of the beginning. */
const MOST_BODY_BYTES = 16 * 1024 * 1024;

/**
 * Sends one request on a connection of its own, with the target byte for byte. Certificates are compared, not checked: during a
 * move, one side often has a certificate of its own.
 */
export function send(
  side: Side,
  request: TestRequest,
  { timeoutMs, signal }: { timeoutMs: number; signal: AbortSignal },
): Promise<Received> {
  const { secure, host, target, method, headers } = request;
  const to = secure ? side.https : side.http;
  if (to === undefined) return Promise.reject(new Error('there is no address for HTTPS'));
  return new Promise((resolve, reject) => {
    const options = {
      host: to.address,
      port: to.port,
      path: target,
      method,
      headers: { host, 'user-agent': 'tidegate-migrate-verify', accept: '*/*', ...headers },
      agent: false as const,
      signal,
    };
    const timer = setTimeout(
      () => sent.destroy(new Error(`no response within ${timeoutMs / 1000} seconds`)),
      timeoutMs,
    );
    const sent = secure
      ? secureRequest({ ...options, servername: host.replace(/:\d+$/, ''), rejectUnauthorized: false })
      : plainRequest(options);
    sent.on('error', reject);
    sent.on('close', () => clearTimeout(timer));
    sent.on('response', (response) => {
      const certificate = certificateOf(response.socket);
      const digest = createHash('sha256');
      let length = 0;
      response.on('data', (chunk: Buffer) => {
        digest.update(chunk.subarray(0, Math.max(0, MOST_BODY_BYTES - length)));
        length += chunk.length;
        if (length > MOST_BODY_BYTES) response.destroy();
      });
      response.on('error', reject);
      response.on('close', () => {
        resolve({
          status: response.statusCode ?? 0,
          headers: Object.fromEntries(
            Object.entries(response.headers).map(([name, value]) => [name, [value ?? ''].flat().join(', ')]),
          ),
          body: digest.digest('hex'),
          ...(certificate !== undefined && { certificate }),
        });
      });
    });
    sent.end();
  });
}

function certificateOf(socket: unknown): string | undefined {
  const { getPeerCertificate } = socket as { getPeerCertificate?: () => { fingerprint256?: string } };
  return getPeerCertificate?.call(socket).fingerprint256;
}
