import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { Octavia, type Session } from '../../packages/tidegate/src/dataplane/octavia/openstack/index.ts';
import { host, route, upstream } from '../dataplane/support/words.ts';
import { Faults } from './support/faults.ts';
import { OctaviaServer } from './support/octavia.ts';
import {
  never,
  openCloud,
  provisioner,
  ready,
  removed,
  router,
  session,
  snapshot,
} from './support/routers.ts';

let server: OctaviaServer;
let faults: Faults;
let calls: Session;

beforeAll(async () => {
  server = await OctaviaServer.start();
  faults = await Faults.start(server.url);
  calls = session(openCloud(faults.url));
});
afterAll(async () => {
  await calls?.close();
  await faults?.stop();
  await server?.stop();
});

async function started(name: string) {
  const object = router(name);
  onTestFinished(() => removed(provisioner(server, calls), object));
  await ready(provisioner(server, calls), object);
  return object;
}

const FIRST = snapshot([host('a.io', [route('/', 's'), route('/cart', 's')])], [upstream('s', [80])]);
const SECOND = snapshot(
  [host('a.io', [route('/', 's'), route('/cart', 's'), route('/help', 's')])],
  [upstream('s', [80])],
);

describe('waiting for Octavia', () => {
  // For a GET of one object, Octavia reads all objects of its load balancer: seconds, with a thousand rules.
  test('reads lists, and the rules of a policy once', async () => {
    const object = await started('reads');
    const own = provisioner(server, calls);
    await own.reconcile(object, FIRST, never);
    faults.reads.length = 0;
    await own.reconcile(object, SECOND, never);
    const single = faults.reads
      .map((url) => url.split('?')[0])
      .filter((path) => /\/[0-9a-f-]{36}/.test(`${path}`));
    expect(single).toEqual([expect.stringMatching(/\/l7policies\/[0-9a-f-]{36}\/rules$/)]);
  });

  test('replaces a policy with a rule that ended in ERROR', async () => {
    const object = await started('bad-rule');
    const own = provisioner(server, calls);
    await own.reconcile(object, FIRST, never);
    faults.writes.length = 0;
    // As if Octavia could not program the first new rule: then its worker gives only the rule the status ERROR.
    const isRule = (path: string): boolean => path.endsWith('/rules');
    faults.before = async (_, path) => {
      if (isRule(path)) await server.hold();
    };
    faults.answered = async (_, path) => {
      if (!isRule(path)) return;
      faults.before = async () => {};
      faults.answered = async () => {};
      await server.sql(
        "update l7rule set provisioning_status='ERROR' where provisioning_status='PENDING_CREATE'",
      );
      await server.release();
    };
    await own.reconcile(object, SECOND, never);
    expect(faults.writes.filter((write) => /^DELETE .*\/l7policies\//.test(write))).toHaveLength(1);
    const octavia = new Octavia(calls);
    const policies = await octavia.list('l7policies');
    expect(policies).toHaveLength(3);
    for (const { id } of policies)
      expect((await octavia.rules(id)).map((rule) => rule.provisioning_status)).not.toContain('ERROR');
  });
});
