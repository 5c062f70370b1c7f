import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { service } from '../../../packages/tidegate/src/ingress/testing/objects.ts';
import type { Backend } from '../support/backend.ts';
import type { Ask } from '../support/client.ts';
import type { MakeDriver } from '../support/world.ts';
import { PolicyCluster } from './policy-cluster.ts';

/** Keys whose requests get the same endpoint, and the choice by time. */
export function balance(make: MakeDriver): void {
  describe('choice of endpoints', () => {
    let it: PolicyCluster;
    let made = 0;
    beforeAll(async () => {
      it = await PolicyCluster.start(make);
    });
    afterAll(() => it.stop());

    const NAMES = ['a', 'b', 'c', 'd', 'e', 'f'];
    const serve = async (
      annotations: Record<string, string>,
      pods: readonly Backend[] = [],
    ): Promise<{ host: string; pods: readonly Backend[] }> => {
      const name = `s${made++}`;
      const started = pods.length > 0 ? pods : await Promise.all(NAMES.map((each) => it.backend(each)));
      it.cluster.put('Service', service(name, ['http:80']));
      for (const pod of started) it.endpoint(name, pod);
      await it.serve({ [`${name}.io/`]: `${name}:80` }, annotations);
      return { host: `${name}.io`, pods: started };
    };
    const backend = (where: string, options?: Ask) => it.world.respondingBackend(where, options);
    /** The endpoints of requests. */
    const backends = async (asks: [string, Ask?][]): Promise<Set<string | number>> =>
      new Set(await Promise.all(asks.map(([where, options]) => backend(where, options))));
    const times = <T>(count: number, make: (at: number) => T): T[] =>
      Array.from({ length: count }, (_, at) => make(at));

    test.each<[string, (at: number) => [string, Ask?]]>([
      ['$request_uri', (at) => [`/x${at}?y`]],
      ['$uri', (at) => [`/x${at}`]],
      ['$arg_user', (at) => [`/?a=b&user=u${at}`]],
      ['a$args', (at) => [`/?${at}`]],
      ['$http_x_user', (at) => ['/', { headers: { 'X-User': `u${at}` } }]],
      ['user-$cookie_id', (at) => ['/', { headers: { Cookie: `a=b; id=${at}` } }]],
    ])('%s decides the endpoint', async (key, request) => {
      const { host } = await serve({ 'upstream-hash-by': key });
      const ask = (at: number): [string, Ask?] => {
        const [path, options] = request(at);
        return [host + path, options];
      };
      for (const at of [1, 2, 3]) expect((await backends(times(8, () => ask(at)))).size).toBe(1);
      expect((await backends(times(30, ask))).size).toBeGreaterThan(2);
    });

    test.each(['$remote_addr', '$binary_remote_addr', '$host', '$scheme', '$request_method', 'fixed'])(
      'all requests of a client have the same %s',
      async (key) => {
        const { host } = await serve({ 'upstream-hash-by': key });
        expect((await backends(times(10, (at) => [`${host}/${at}`]))).size).toBe(1);
      },
    );

    test('few keys move when an endpoint goes, and a key moves when its endpoint fails', async () => {
      const { host, pods } = await serve({ 'upstream-hash-by': '$uri' });
      const keys = times(20, (at) => `${host}/${at}`);
      const before = await Promise.all(keys.map((key) => backend(key)));
      const [gone] = pods;
      await gone!.stop();
      for (const [at, key] of keys.entries()) {
        const now = await backend(key);
        expect(NAMES).toContain(now);
        if (before[at] !== gone!.name) expect(now).toBe(before[at]);
      }
    });

    test('a subset has several endpoints', async () => {
      const annotations = { 'upstream-hash-by': 'fixed', 'upstream-hash-by-subset': 'true' };
      const { host } = await serve({ ...annotations, 'upstream-hash-by-subset-size': '2' });
      const seen = new Set<string | number>();
      await expect.poll(async () => seen.add(await backend(`${host}/`)).size).toBe(2);
      for (const each of await backends(times(20, (at) => [`${host}/${at}`]))) expect(seen).toContain(each);
    });

    test.each([
      ['upstream-hash-by', '$evil'],
      ['upstream-hash-by', '$request_uri"; }'],
      ['upstream-hash-by-subset-size', '0'],
      ['load-balance', 'ip_hash'],
    ])('%s: %s is ignored', async (name, value) => {
      const { host } = await serve({ [name]: value });
      expect(NAMES).toContain(await backend(`${host}/`));
    });

    test('ewma prefers the endpoint that answers faster', async () => {
      const slow = await it.backend('slow', {
        handle: (_, response) => void setTimeout(() => response.end('slow'), 300),
      });
      const fast = await it.backend('fast', { handle: (_, response) => void response.end('fast') });
      const { host } = await serve({ 'load-balance': 'ewma' }, [slow, fast]);
      // Each worker of nginx has to see both first.
      await expect
        .poll(async () => {
          const before = slow.requests;
          for (let i = 0; i < 5; i++) await it.world.ask(`${host}/`);
          return slow.requests - before;
        })
        .toBe(0);
      expect(fast.requests).toBeGreaterThan(4);
    });

    test('round_robin and least_conn use all endpoints', async () => {
      for (const value of ['round_robin', 'least_conn']) {
        const { host } = await serve({ 'load-balance': value });
        const seen = new Set<string | number>();
        await expect.poll(async () => seen.add(await backend(`${host}/`)).size).toBe(NAMES.length);
      }
    });
  });
}
