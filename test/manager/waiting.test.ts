/** A manager that cannot work yet reports why: in its log within seconds, and in its readiness. */
import { createServer, type Server, type Socket } from 'node:net';
import { fixedCredential, KubeClient, loadConfig, Metrics } from '@tidegate/kube';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { METRICS_PREFIX } from '../../packages/tidegate/src/api/index.ts';
import { runManager } from '../../packages/tidegate/src/manager/index.ts';
import { accountToken } from '../support/accounts.ts';
import { type Embedded, startEmbedded } from '../support/embedded.ts';
import { linesLogger } from '../support/lines-logger.ts';
import { eventually } from '../support/patience.ts';
import { reservePort } from '../support/ports.ts';

let server: Embedded;
let admin: KubeClient;
let silent: Server;
const sockets = new Set<Socket>();
beforeAll(async () => {
  server = await startEmbedded();
  admin = new KubeClient(await loadConfig({ path: server.kubeconfig, env: {} }));
  silent = createServer((socket) => sockets.add(socket.on('error', () => {})));
  await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
});
afterAll(async () => {
  for (const socket of sockets) socket.destroy();
  silent.close();
  await admin.close();
  await server.stop();
});

const withToken = (token: string, url = server.url): KubeClient =>
  new KubeClient({
    server: url,
    ca: admin.config.ca,
    namespace: 'default',
    credentials: fixedCredential({ authorization: `Bearer ${token}` }),
  });

it.each([
  [
    'its token is not valid',
    async () => withToken('invented'),
    'does not accept the credentials of the manager (401',
  ],
  [
    'it has no permissions',
    async () => withToken(await accountToken(admin, 'powerless')),
    'does not allow the manager to create the namespaces of the manager (403',
  ],
  [
    'the API server accepts connections, but does not answer',
    async () => withToken('x', `https://127.0.0.1:${(silent.address() as { port: number }).port}`),
    'has not answered yet',
  ],
])('when %s', async (_, connect, sentence) => {
  const stop = new AbortController();
  const client = await connect();
  const log = linesLogger();
  const port = await reservePort();
  const running = runManager({
    client,
    identity: 'm1',
    webhook: { host: '127.0.0.1', port: 0 },
    health: { host: '127.0.0.1', port },
    hubAddresses: [],
    routerImage: 'tidegate',
    leaderElection: false,
    installDefinitions: false,
    log,
    metrics: new Metrics({ prefix: METRICS_PREFIX }),
    signal: stop.signal,
  });
  const ready = await eventually(async () => {
    const answer = await fetch(`http://127.0.0.1:${port}/readyz`).catch(() => undefined);
    const body = await answer?.text();
    return body?.includes(sentence) === true && { code: answer?.status, body };
  });
  expect(ready.code).toBe(503);
  await eventually(() => log.lines.some((line) => line.includes(sentence) && line.includes('; retrying')));
  stop.abort();
  await running;
  await client.close();
});
