import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  DURATION_BUCKETS_SECONDS,
  TRAFFIC_METRICS,
} from '../../../packages/tidegate/src/dataplane/traffic-metrics.ts';
import { CLOSED_PORTS } from '../../support/ports.ts';
import { TcpServer } from '../support/tcp-server.ts';
import { vanishedEndpoint } from '../support/vanished.ts';
import { host, upstream } from '../support/words.ts';
import { type MakeDriver, World } from '../support/world.ts';

/** Metrics and access log. */
export function observed(make: MakeDriver): void {
  describe('metrics and log', () => {
    let world: World;

    beforeAll(async () => {
      world = await World.start(make);
      const one = await world.backend('one');
      await world.change({
        hosts: [host('one.io', 'one'), host('*.wild.io', 'one'), host('gone.io', 'gone')],
        upstreams: [upstream('one', [one.port]), upstream('gone', [CLOSED_PORTS[0]])],
      });
      for (const where of ['one.io/a', 'one.io/b?c', 'x.wild.io/', 'y.wild.io/', 'gone.io/', 'nowhere.io/']) {
        await world.ask(where, { headers: { 'User-Agent': 'me "\\ {}', 'X-Request-Id': 'id-1' } });
      }
    });
    afterAll(() => world.stop());

    test('counts requests by class, host and Service', async () => {
      await expect
        .poll(async () => samples(await world.driver.metrics(), 'tidegate_router_requests_total'))
        .toEqual({
          'class="gold",code="200",host="*.wild.io",router="",service="shop/one"': 2,
          'class="gold",code="200",host="one.io",router="",service="shop/one"': 2,
          'class="gold",code="404",host="",router="",service=""': 1,
          'class="gold",code="502",host="gone.io",router="",service="shop/gone"': 1,
        });
      const text = await world.driver.metrics();
      expect(samples(text, 'tidegate_router_request_duration_seconds_count')).toMatchObject({
        'class="gold",host="one.io",router="",service="shop/one"': 2,
      });
      expect(samples(text, 'tidegate_router_upstream_errors_total')).toEqual({
        'class="gold",host="gone.io",kind="connect",router="",service="shop/gone"': 1,
      });
    });

    test('counts failed attempts by kind, also if another endpoint answers', async () => {
      const vanished = await vanishedEndpoint();
      const broken = new TcpServer((socket) => socket.once('data', () => socket.resetAndDestroy()));
      await broken.start();
      const two = await world.backend('two');
      const ports = { connect: CLOSED_PORTS[0], broken: broken.port, timeout: vanished.port };
      await world.change({
        hosts: Object.keys(ports).map((kind) => host(`${kind}.io`, kind)),
        upstreams: Object.entries(ports).map(([kind, port]) => upstream(kind, [port, two.port])),
      });
      try {
        const countedFor = async (kind: string): Promise<string[]> => {
          // A request may meet the endpoint that answers first.
          expect(await world.respondingBackend(`${kind}.io/`)).toBe('two');
          const all = samples(await world.driver.metrics(), 'tidegate_router_upstream_errors_total');
          return Object.keys(all).filter((labels) => labels.includes(`host="${kind}.io"`));
        };
        for (const kind of Object.keys(ports))
          await expect
            .poll(() => countedFor(kind))
            .toEqual([`class="gold",host="${kind}.io",kind="${kind}",router="",service="shop/${kind}"`]);
      } finally {
        await broken.stop();
        await vanished.close();
      }
    });

    test('exports the metrics of the common table, all with the prefix tidegate_', async () => {
      const text = await world.driver.metrics();
      for (const { name, type, help } of TRAFFIC_METRICS)
        expect(text).toContain(`# HELP ${name} ${help}\n# TYPE ${name} ${type}\n`);
      const names = [...text.matchAll(/^# TYPE (\S+)/gm)].map(([, name]) => name);
      expect(names.filter((name) => !name?.startsWith('tidegate_'))).toEqual([]);
      const bounds = [...text.matchAll(/duration_seconds_bucket\{.*le="([^"]+)"/g)].map(([, bound]) => bound);
      expect(new Set(bounds)).toEqual(new Set([...DURATION_BUCKETS_SECONDS.map(String), '+Inf']));
    });

    test('writes one line of JSON for each request', async () => {
      await expect.poll(async () => (await world.accessLog()).length).toBeGreaterThanOrEqual(6);
      const lines = await world.accessLog();
      const line = lines.find(({ target }) => target === '/b?c');
      expect(line).toMatchObject({
        ...{ requestId: 'id-1', client: '127.0.0.1', class: 'gold', scheme: 'http', method: 'GET' },
        ...{ host: 'one.io', target: '/b?c', protocol: 'HTTP/1.1', status: 200 },
        ...{
          ingress: 'shop/web',
          service: 'shop/one',
          endpoints: expect.stringMatching(/^127\.0\.0\.1:\d+$/),
        },
        userAgent: 'me "\\ {}',
      });
      expect(line!.bytes).toBeGreaterThan(10);
      expect(line!.seconds).toBeGreaterThanOrEqual(0);
      expect(Date.parse(String(line!.time))).not.toBeNaN();
      // Each worker of nginx writes its own lines.
      const lineOf = (name: string) => lines.find((line) => line.host === name);
      expect(lineOf('gone.io')).toMatchObject({ status: 502, service: 'shop/gone' });
      expect(lineOf('nowhere.io')).toMatchObject({
        status: 404,
        ingress: '',
        service: '',
        endpoints: '',
        bytes: 10,
      });
    });
  });
}

/** Values of a metric by its labels, which are sorted. */
function samples(text: string, name: string): Record<string, number> {
  const found = text.matchAll(new RegExp(`^${name}\\{(.*)\\} (\\S+)$`, 'gm'));
  return Object.fromEntries(
    [...found].map(([, labels, value]) => [labels!.split(',').sort().join(','), Number(value)]),
  );
}
