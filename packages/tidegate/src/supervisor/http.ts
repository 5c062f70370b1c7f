import { get } from 'node:http';

const ANSWER_MS = 1000;

/** A complete HTTP response. */
export interface Answer {
  status: number;
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
      response.on('end', () => resolve({ status: response.statusCode ?? 0, body }));
    });
    request.on('timeout', () => request.destroy());
    // A failed request is reported by the `close` event that follows.
    request.on('error', () => {});
    request.on('close', () => resolve(undefined));
  });
}
