import { get } from 'node:http';

const TIMEOUT_MS = 5_000;

/** One request from this machine. Resolves to the status code; rejects if nothing answers. */
export const ask = (url: string): Promise<number> =>
  new Promise((resolve, reject) => {
    const request = get(url, { timeout: TIMEOUT_MS, agent: false }, (response) => {
      response.resume();
      resolve(response.statusCode ?? 0);
    });
    request.on('timeout', () => request.destroy(new Error(`no answer within ${TIMEOUT_MS / 1000} s`)));
    request.on('error', reject);
  });
