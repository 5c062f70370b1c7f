import { readFile } from 'node:fs/promises';
import { get, type IncomingHttpHeaders } from 'node:http';
import { get as secureGet } from 'node:https';

/** For a process on a busy machine. One that does not run refuses the connection immediately. */
const ANSWER_MS = 5_000;
const REACH_MS = 10_000;

/** A complete HTTP response. */
export interface Answer {
  status: number;
  headers: IncomingHttpHeaders;
  body: string;
}

/** Sends a GET request; `host` overrides the Host header. Resolves to undefined without a response. */
export function httpGet(url: string, host?: string): Promise<Answer | undefined> {
  return new Promise((resolve) => {
    const headers = host === undefined ? {} : { host };
    const request = get(url, { agent: false, headers, timeout: ANSWER_MS }, (response) => {
      let body = '';
      response.setEncoding('utf8');
      response.on('data', (chunk: string) => {
        body += chunk;
      });
      response.on('end', () =>
        resolve({ status: response.statusCode ?? 0, headers: response.headers, body }),
      );
    });
    request.on('timeout', () => request.destroy());
    // A failed request is reported by the `close` event that follows.
    request.on('error', () => {});
    request.on('close', () => resolve(undefined));
  });
}

/** Where a process answers over HTTP. `caFile` has the certificate authority of an HTTPS server. */
export interface ServedAt {
  url: string;
  caFile?: string;
}

/** Resolves when the server sends any response, and rejects when it does not. */
export async function untilAnswered({ url, caFile }: ServedAt): Promise<void> {
  const ca = caFile === undefined ? undefined : await readFile(caFile);
  await new Promise<void>((resolve, reject) => {
    const options = { agent: false, timeout: REACH_MS, ...(ca !== undefined && { ca }) };
    const request = (url.startsWith('https:') ? secureGet : get)(url, options, (response) => {
      response.resume();
      resolve();
    });
    request.on('timeout', () => request.destroy(new Error(`no answer within ${REACH_MS / 1000} s`)));
    request.on('error', reject);
  });
}
