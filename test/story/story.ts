/** The story of the README and the user stories of front doors, under constant load. */
import { once } from 'node:events';
import { connect } from 'node:tls';
import type { KubeList, Pod } from '@tidegate/kube';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { TestAuthority } from '../../packages/tidegate/src/ingress/testing/certificates.ts';
import { eventually, Stop } from '../support/cluster.ts';
import { NO_PODS, NODE_ERRORS } from './callers.ts';
import { application, ingress } from './objects.ts';
import { addressesOf, POOLS, podsOf, routerPod, type World } from './world.ts';

/** The README lists which tests only one kind of cluster has, and why. */
export function story(kind: 'embedded' | 'real', open: () => Promise<World>): void {
  let world: World;
  beforeAll(async () => {
    world = await open();
  });
  afterAll(async () => {
    await world?.close();
  });

  const kubectl = (args: string): Promise<string> => world.kubectl.run(args);
  const ask: World['ask'] = (url, options) => world.ask(url, options);
  /** Retries until the request succeeds. */
  const answered = (url: string, host: string) =>
    eventually(`${host} is answered at ${url}`, () => ask(url, { host }));

  if (kind === 'embedded')
    test('the commands to try show a pod of the pool', async () => {
      const { suggestions, tried } = world.embedded!;
      const lines = suggestions();
      const pools = await Promise.all(lines.map(async (line) => (await tried(line)).pool));
      expect(pools.toSorted()).toEqual(['beijing', 'hangzhou']);
      for (const [i, line] of lines.entries()) expect(line).toContain(`served in ${pools[i]}`);
    });

  test('a front door listens on the nodes of its pool and on no others', async () => {
    const [here, there] = POOLS;
    const port = new URL(world.doors.url(here)).port;
    for (const url of world.doors.urls(there)) {
      const elsewhere = new URL(url);
      elsewhere.port = port;
      // A node that has just learned its pool can still be closing the port. It never answers.
      await eventually(`${elsewhere.href} is refused`, async () => {
        const outcome = await ask(elsewhere.href).catch((error: Error) => error);
        if (!(outcome instanceof Error)) throw new Stop(`${elsewhere.href} answers`);
        return outcome.message.includes('ECONNREFUSED') || undefined;
      });
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
    await world.kubectl.apply(secret, ingress('shop', 'hangzhou', { '/': 'nginx-service' }, 'shop'));
    expect((await answered(world.doors.url('hangzhou'), 'shop.example.com')).pool).toBe('hangzhou');
    const url = world.doors.secureUrl('hangzhou');
    const status = await eventually('https is answered', () =>
      secureStatus(world, url, 'shop.example.com', authority.certificate),
    );
    expect(status).toBe(200);
  });

  test('Story 2: an app uses several services of a pool under one host', async () => {
    const paths = { '/': 'nginx-service', '/cart': 'cart' };
    await world.kubectl.apply(
      application('cart', POOLS),
      ...POOLS.map((pool) => ingress('app', pool, paths)),
    );
    for (const pool of POOLS) {
      const cart = await answered(world.doors.url(pool, '/cart'), 'app.example.com');
      expect(cart).toMatchObject({ pool, path: '/cart', pod: expect.stringMatching(`^cart-${pool}-`) });
      const home = await answered(world.doors.url(pool), 'app.example.com');
      expect(home).toMatchObject({ pool, pod: expect.stringMatching(`^nginx-${pool}-`) });
    }
  });

  test('Story 3: requests are balanced one by one, also over one connection', async () => {
    for (const pool of POOLS) {
      const agent = world.agent(world.doors.url(pool));
      const seen = new Set<string>();
      for (let i = 0; i < 30; i++) seen.add((await ask(world.doors.url(pool), { agent })).pod);
      expect([...seen].toSorted()).toEqual(await podsOf(world.kubectl, pool));
      agent.destroy();
    }
  });

  test('a new Ingress takes effect immediately', async () => {
    await world.kubectl.apply(ingress('blink', 'hangzhou', { '/': 'nginx-service' }));
    expect((await answered(world.doors.url('hangzhou'), 'blink.example.com')).pool).toBe('hangzhou');
  });

  test('cut: all requests there still succeed, and router and hub restart after a kill', async () => {
    const pod = await routerPod(world.kubectl, 'hangzhou');
    await world.cut('hangzhou');
    await world.callers.during('hangzhou', () => world.killRouter(pod));
    expect((await ask(world.doors.url('hangzhou'), { host: 'blink.example.com' })).pool).toBe('hangzhou');
    await world.killHub(pod.spec?.nodeName ?? '');
    expect((await ask(world.doors.url('hangzhou'))).pool).toBe('hangzhou');
  });

  test('cut: a node of the site can lose power, and its pods answer at new addresses without the cloud', async () => {
    const { nodeName } = (await routerPod(world.kubectl, 'hangzhou')).spec ?? {};
    const before = await addressesOf(world.kubectl, 'hangzhou');
    // Preferably not the node of the router, whose hub has to learn from the other one.
    const [node = ''] = [...before.keys()].sort((a, b) => Number(a === nodeName) - Number(b === nodeName));
    const restart = async (): Promise<void> => {
      await world.reboot(node);
      // A request may be swallowed while kube-proxy starts, so none waits for long.
      for (const url of world.doors.urls('hangzhou')) {
        await eventually(`${url} is answered by a pod on ${node}`, async () => {
          const answer = await ask(url, { signal: AbortSignal.timeout(10_000) });
          expect(answer.pool).toBe('hangzhou');
          return answer.node === node;
        });
      }
    };
    // All pods of the site can be on this node.
    await world.callers.during('hangzhou', restart, [...NODE_ERRORS, ...(before.size === 1 ? NO_PODS : [])]);
    // The cloud still has the old addresses.
    expect(await addressesOf(world.kubectl, 'hangzhou')).toEqual(before);
    const seen = new Set<string>();
    for (let i = 0; i < 30; i++) seen.add((await ask(world.doors.url('hangzhou'))).pod);
    expect([...seen].toSorted()).toEqual(await podsOf(world.kubectl, 'hangzhou'));
  });

  test('cut: the other pool is not affected', async () => {
    const path = '/spec/workloadScope/targetNodeGroups/1/overriders/replicas';
    const patch = JSON.stringify([{ op: 'replace', path, value: 4 }]);
    await kubectl(`patch edgeapplication nginx-app --type=json -p ${patch}`);
    await world.kubectl.apply(ingress('late', 'hangzhou', { '/': 'nginx-service' }));
    await eventually('four pods answer', async () => {
      const answers = await Promise.all(Array.from({ length: 8 }, () => ask(world.doors.url('beijing'))));
      return new Set(answers.map(({ pod }) => pod)).size === 4 || undefined;
    });
    await expect(ask(world.doors.url('hangzhou'), { host: 'late.example.com' })).rejects.toThrow(
      'status 404',
    );
  });

  if (kind === 'embedded')
    test('cut: status shows both pools', async () => {
      await eventually('status shows the link of each pool, and that its front door responds', async () => {
        const { pools, frontDoors } = await world.embedded!.report();
        expect(pools.map(({ name, link }) => `${name} ${link}`)).toEqual(['hangzhou cut', 'beijing up']);
        const routers = [{ responding: true, dataPlane: world.dataPlane }];
        expect(frontDoors).toMatchObject(['beijing', 'hangzhou'].map((pool) => ({ pool, routers })));
        return true;
      });
    });

  test('mend: the pool catches up', async () => {
    await world.mend('hangzhou');
    expect((await answered(world.doors.url('hangzhou'), 'late.example.com')).pool).toBe('hangzhou');
    await eventually('the cluster knows that the router was started again', async () => {
      const { items } = await world.kubectl.json<KubeList<Pod>>('-n ingress-nginx get pods');
      return items.some(({ status }) => status?.containerStatuses?.some((each) => each.restartCount > 0));
    });
    await kubectl('wait yurtingress/cities --for=jsonpath={.status.readyNum}=2 --timeout=240s');
  });

  test('trace explains the routing', async () => {
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
  });

  if (kind === 'embedded')
    test('status shows the pools, the front doors and the routes', async () => {
      await eventually('status shows the pool, its front door and the routes', async () => {
        const text = await world.embedded!.status();
        expect(text).toMatch(/^hangzhou +NodeGroup +2\/2 +up +node-a,node-b$/m);
        const columns = `http://[\\d.:]+ +True +1/1 +${world.dataPlane} +5 +6 +\\w+ ago`;
        expect(text).toMatch(new RegExp(`^hangzhou +hangzhou +${columns}$`, 'm'));
        expect(text).toMatch(/^late\.example\.com +\/ +nginx-service:80 +default\/late-hangzhou +hangzhou$/m);
        return true;
      });
    });

  test('no request failed without explanation, and none left its pool', async () => {
    await world.callers.stop();
    expect(world.callers.failures).toBe('');
    for (const pool of POOLS) expect(world.callers.answered.get(pool)).toBeGreaterThan(100);
  });
}

/** The status of a response over TLS. The certificate is verified. */
async function secureStatus(world: World, url: URL, host: string, ca: string): Promise<number> {
  const socket = connect({ socket: await world.connect(url), servername: host, ca });
  try {
    await once(socket, 'secureConnect');
    socket.write(`GET / HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`);
    const [head] = (await once(socket, 'data')) as [Buffer];
    return Number(/^HTTP\/1\.1 (\d+)/.exec(head.toString())?.[1]);
  } finally {
    socket.destroy();
  }
}
