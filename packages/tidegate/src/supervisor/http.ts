import { get } from 'node:http';

const ANSWER_MS = 1000;

export interface Answer {
  status: number;
  body: string;
}

/** What is answered there, if anything is. `host` is whom the request is for. */
export function ask(url: string, host?: string): Promise<Answer | undefined> {
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
    // Nobody is there: the end of the connection says so too.
    request.on('error', () => {});
    request.on('close', () => resolve(undefined));
  });
}
