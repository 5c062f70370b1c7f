import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { systemClock } from '@tidegate/kube';
import { expect, onTestFinished, test } from 'vitest';
import { Session } from './session.ts';

test('reports a service that accepts a call and does not answer', async () => {
  const server = createServer(() => {});
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  const session = new Session(
    {
      auth: { type: 'none', projectId: 'p' },
      interface: 'public',
      verify: true,
      endpoints: { 'load-balancer': `http://127.0.0.1:${port}` },
    },
    systemClock,
    1_000,
  );
  onTestFinished(() => session.close());
  await expect(
    session.call('load-balancer', { method: 'GET', path: '/v2/lbaas/pools' }),
  ).rejects.toMatchObject({
    kind: 'unavailable',
    message: 'load-balancer: GET /v2/lbaas/pools: no answer within 1 seconds',
  });
});
