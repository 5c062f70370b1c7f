import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Session } from '../../packages/tidegate/src/dataplane/octavia/index.ts';
import { host, route, upstream } from '../dataplane/support/words.ts';
import { Faults } from './support/faults.ts';
import { OctaviaServer } from './support/octavia.ts';
import {
  never,
  openCloud,
  PROJECT,
  provisioner,
  ready,
  router,
  session,
  snapshot,
} from './support/routers.ts';

let server: OctaviaServer;
let faults: Faults;
let calls: Session;

beforeAll(async () => {
  server = await OctaviaServer.start({ auth: 'testing' });
  // The API believes these headers: with a role, quotas and permissions have an effect.
  faults = await Faults.start(server.url, { 'x-roles': 'load-balancer_member' });
  calls = session(openCloud(faults.url));
});
afterAll(async () => {
  await calls?.close();
  await faults?.stop();
  await server?.stop();
});

async function setQuota(pool: number): Promise<void> {
  const response = await fetch(`${server.url}/v2/lbaas/quotas/${PROJECT}`, {
    method: 'PUT',
    headers: { 'content-type': 'application/json', 'x-roles': 'admin', 'x-project-id': 'admin' },
    body: JSON.stringify({ quota: { pool } }),
  });
  expect(response.status).toBe(202);
}

test('reports an exceeded quota, keeps what it has, and continues when there is room', async () => {
  const object = router('quota');
  const wanted = snapshot([host('a.io', [route('/', 'shop_s1_80')])], [upstream('shop_s1_80', [80])]);
  await ready(provisioner(server, calls), object);
  await setQuota(1);
  await expect(provisioner(server, calls).reconcile(object, wanted, never)).rejects.toMatchObject({
    reason: 'QuotaExceeded',
    message: expect.stringMatching(
      /^load-balancer: POST .*pools: 403 Quota has been met for resources: pool.*Ask the administrator/i,
    ),
  });
  await setQuota(10);
  await provisioner(server, calls).reconcile(object, wanted, never);
  expect((await provisioner(server, calls).preview(object, wanted, never)).steps).toEqual([]);
});
