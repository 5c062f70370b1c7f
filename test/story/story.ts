/** The story of the README and the user stories of front doors, under constant load. */
import { Agent } from 'node:http';
import { get } from 'node:https';
import type { KubeList, Pod } from '@tidegate/kube';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { TestAuthority } from '../../packages/tidegate/src/ingress/testing/certificates.ts';
import { eventually } from '../support/cluster.ts';
import type { DataPlane } from '../support/data-plane.ts';
import { ask } from './callers.ts';
import { application, ingress } from './objects.ts';
import { POOLS, World } from './world.ts';

export function story(dataPlane: DataPlane): void {
  let world: World;
  beforeAll(async () => {
    world = await World.open(dataPlane);
  });
  afterAll(async () => {
    await world?.callers.stop();
    await world?.cluster.stop();
  });

  const kubectl = (args: string): Promise<string> => world.cluster.kubectl.run(args);
  const tidegate = (...args: string[]): Promise<string> => world.cluster.tidegate(...args);
  /** Retries until the request succeeds. */
  const answered = (url: string, host: string) =>
    eventually(`${host} is answered at ${url}`, () => ask(url, { host }));

  test('the commands to try show a pod of the pool', async () => {
    const lines = world.cluster.up.stdout.match(/curl -H .*/g) ?? [];
    const pools = await Promise.all(lines.map(async (line) => (await world.tried(line)).pool));
    expect(pools.toSorted()).toEqual(['beijing', 'hangzhou']);
    for (const [i, line] of lines.entries()) expect(line).toContain(`served in ${pools[i]}`);
  });

  test('a front door listens on the nodes of its pool and on no others', async () => {
    const [here, there] = POOLS;
    const port = new URL(world.url(here)).port;
    for (const url of world.urls(there)) {
      const elsewhere = new URL(url);
      elsewhere.port = port;
      await expect(ask(elsewhere.href)).rejects.toThrow('ECONNREFUSED');
    }
  });

  test('Story 1: services in a pool are reachable over HTTP and HTTPS', async () => {
    const authority = new TestAuthority();
    const { certificate, key } = authority.issue(['shop.example.com']);
    const encode = (text: string): string => Buffer.from(text).toString('base64');
    const secret = {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: 'shop' },
      type: 'kubernetes.io/tls',
      data: { 'tls.crt': encode(certificate), 'tls.key': encode(key) },
    };
    await world.cluster.kubectl.apply(secret, ingress('shop', 'hangzhou', { '/': 'nginx-service' }, 'shop'));
    expect((await answered(world.url('hangzhou'), 'shop.example.com')).pool).toBe('hangzhou');
    const url = world.secureUrl('hangzhou');
    const status = await eventually('https is answered', () =>
      secureStatus(url, 'shop.example.com', authority.certificate),
    );
    expect(status).toBe(200);
  });

  test('Story 2: an app uses several services of a pool under one host', async () => {
    const paths = { '/': 'nginx-service', '/cart': 'cart' };
    await world.cluster.kubectl.apply(
      application('cart', POOLS),
      ...POOLS.map((pool) => ingress('app', pool, paths)),
    );
    for (const pool of POOLS) {
      const cart = await answered(world.url(pool, '/cart'), 'app.example.com');
      expect(cart).toMatchObject({ pool, path: '/cart', pod: expect.stringMatching(`^cart-${pool}-`) });
      const home = await answered(world.url(pool), 'app.example.com');
      expect(home).toMatchObject({ pool, pod: expect.stringMatching(`^nginx-${pool}-`) });
    }
  });

  test('Story 3: requests are balanced one by one, also over one connection', async () => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    for (const pool of POOLS) {
      const seen = new Set<string>();
      for (let i = 0; i < 30; i++) seen.add((await ask(world.url(pool), { agent })).pod);
      expect([...seen].toSorted()).toEqual(await world.pods(pool));
    }
    agent.destroy();
  });

  test('a new Ingress takes effect immediately', async () => {
    await world.cluster.kubectl.apply(ingress('blink', 'hangzhou', { '/': 'nginx-service' }));
    expect((await answered(world.url('hangzhou'), 'blink.example.com')).pool).toBe('hangzhou');
  });

  test('cut: all requests there still succeed, and router and hub restart after a kill', async () => {
    await tidegate('cut', 'hangzhou');
    const pod = await world.routerPod('hangzhou');
    const node = pod.spec?.nodeName ?? '';
    const router = await world.cluster.processOf(pod);
    await world.callers.during('hangzhou', async () => {
      process.kill(router, 'SIGKILL');
      await eventually('another router runs', async () =>
        (await world.cluster.processOf(pod)) !== router ? true : undefined,
      );
    });
    expect((await ask(world.url('hangzhou'), { host: 'blink.example.com' })).pool).toBe('hangzhou');
    process.kill(await world.cluster.pidOf(`hub-${node}`), 'SIGKILL');
    await eventually(
      'another hub is running',
      () => world.cluster.up.stdout.includes(`hub-${node} is running again`) || undefined,
    );
    expect((await ask(world.url('hangzhou'))).pool).toBe('hangzhou');
  });

  test('cut: the other pool is not affected, and status shows both', async () => {
    const path = '/spec/workloadScope/targetNodeGroups/1/overriders/replicas';
    const patch = JSON.stringify([{ op: 'replace', path, value: 4 }]);
    await kubectl(`patch edgeapplication nginx-app --type=json -p ${patch}`);
    await world.cluster.kubectl.apply(ingress('late', 'hangzhou', { '/': 'nginx-service' }));
    await eventually('four pods answer', async () => {
      const answers = await Promise.all(Array.from({ length: 8 }, () => ask(world.url('beijing'))));
      return new Set(answers.map(({ pod }) => pod)).size === 4 || undefined;
    });
    const { pools, frontDoors } = await world.report();
    expect(pools.map(({ name, link }) => `${name} ${link}`)).toEqual(['hangzhou cut', 'beijing up']);
    expect(frontDoors).toMatchObject(
      ['beijing', 'hangzhou'].map((pool) => ({ pool, routers: [{ responding: true, dataPlane }] })),
    );
    await expect(ask(world.url('hangzhou'), { host: 'late.example.com' })).rejects.toThrow('status 404');
  });

  test('mend: the pool catches up', async () => {
    await tidegate('mend', 'hangzhou');
    expect((await answered(world.url('hangzhou'), 'late.example.com')).pool).toBe('hangzhou');
    await eventually('the cluster knows that the router was started again', async () => {
      const { items } = await world.cluster.kubectl.json<KubeList<Pod>>('-n ingress-nginx get pods');
      return items.some(({ status }) => status?.containerStatuses?.some((each) => each.restartCount === 1));
    });
    await kubectl('wait yurtingress/cities --for=jsonpath={.status.readyNum}=2 --timeout=240s');
  });

  test('trace and status explain the routing', async () => {
    await eventually('trace explains the route', async () => {
      const traced = await world.trace('http://www.example.com/', '--pool', 'hangzhou');
      // The nodes of each pool; which of them runs a pod depends on which was ready first.
      expect(traced).toMatch(/^ +\d+\. Endpoint \S+ on node node-[ab]$/m);
      expect(traced).toMatch(/on node node-[cde]: not used \(not in pool hangzhou\)$/m);
      expect(traced).not.toMatch(/on node node-[cde]$/m);
      expect(traced).toContain('=> forwarded to one of the 2 endpoints above, by Ingress default/hangzhou');
      return true;
    });
    const unknown = await world.trace('http://unknown.example.com/', '--pool', 'hangzhou');
    expect(unknown.match(/Class \w+/g)).toEqual(['Class hangzhou']);
    await eventually('status shows the pool, its front door and the routes', async () => {
      const text = await tidegate('status');
      expect(text).toMatch(/^hangzhou +NodeGroup +2\/2 +up +node-a,node-b$/m);
      expect(text).toMatch(
        new RegExp(`^hangzhou +hangzhou +http://[\\d.:]+ +True +1/1 +${dataPlane} +5 +6 +\\w+ ago$`, 'm'),
      );
      expect(text).toMatch(/^late\.example\.com +\/ +nginx-service:80 +default\/late-hangzhou +hangzhou$/m);
      return true;
    });
  });

  test('no request failed without explanation, and none left its pool', async () => {
    await world.callers.stop();
    expect(world.callers.failures).toEqual([]);
    for (const pool of POOLS) expect(world.callers.answered.get(pool)).toBeGreaterThan(100);
  });
}

function secureStatus({ hostname, port }: URL, host: string, ca: string): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const options = { hostname, port, servername: host, headers: { host }, ca, agent: false };
    const request = get(options, (response) => {
      response.resume();
      resolve(response.statusCode);
    });
    request.on('error', reject);
  });
}
