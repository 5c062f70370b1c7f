import { createServer, get } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Metrics, silentLogger } from '@tidegate/kube';
import { expect, it, onTestFinished } from 'vitest';
import { Handler } from './handler.ts';

it('answers a client with 503 that is still being authenticated when the hub shuts down', async () => {
  const stop = new AbortController();
  const unused = (): never => {
    throw new Error('the client is not authenticated');
  };
  const handler = new Handler({
    authenticator: {
      authenticate: () => {
        setImmediate(() => stop.abort());
        return new Promise(() => {});
      },
      tenantOf: unused,
    },
    connections: { authenticated: unused },
    dispatcher: { dispatch: unused },
    upstream: { upgrade: unused },
    metrics: new Metrics(),
    log: silentLogger,
    signal: stop.signal,
  });
  const server = createServer((request, response) => handler.handle(request, response, {}));
  onTestFinished(() => void server.close());
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const status = await new Promise((resolve, reject) => {
    get({ host: '127.0.0.1', port, path: '/api', agent: false }, (response) => {
      response.resume();
      resolve(response.statusCode);
    }).on('error', reject);
  });
  expect(status).toBe(503);
});
