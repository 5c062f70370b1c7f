import type { Ingress } from '@tidegate/kube';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Driver } from '../../packages/tidegate/src/dataplane/driver.ts';
import { HONORED, IGNORED, REFUSED } from '../../packages/tidegate/src/ingress/nginx-annotations/index.ts';
import { TestAuthority } from '../../packages/tidegate/src/ingress/testing/certificates.ts';
import {
  classWithHeaders,
  configMap,
  ingress,
  secret,
} from '../../packages/tidegate/src/ingress/testing/objects.ts';
import { askRaw, shownCertificate, statusOf } from './support/client.ts';
import { Cluster } from './support/cluster.ts';
import { EVIL_TEXTS } from './support/evil-texts.ts';
import { certificate, host, route, upstream } from './support/words.ts';
import { type MakeDriver, World } from './support/world.ts';

const ANNOTATIONS = [
  ...['backend-protocol', 'balance', 'proxy-connect-timeout', 'proxy-read-timeout', 'max-body-size'].map(
    (name) => `tidegate.io/${name}`,
  ),
  'tidegate.io/ssl-redirect',
  ...[HONORED, REFUSED, IGNORED].flatMap((table) =>
    [...table.keys()].map((name) => `nginx.ingress.kubernetes.io/${name}`),
  ),
];

/**
 * Text that a tenant writes is only data. It affects its own route or is rejected, and other tenants are not affected.
 * `processesOf` returns the processes of the data plane, which must not change.
 */
export function injection(make: MakeDriver, processesOf: (driver: Driver) => Promise<unknown>): void {
  const authority = new TestAuthority();
  const title = (text: string): string => JSON.stringify(text.slice(0, 60));

  const probe = async (world: World) => ({
    answers: await Promise.all(
      [
        'victim.io/',
        'victim.io/a/b?c',
        'other.io/a',
        'other.io/b',
        'unknown.example/',
        'unknown.example/pwned',
      ].map((where) => world.respondingBackend(where)),
    ),
    certificate: (await shownCertificate(world.ports.https, 'victim.io')).subject.CN,
    processes: await processesOf(world.driver),
  });

  describe('injection through objects', () => {
    let cluster: Cluster;
    let before: Awaited<ReturnType<typeof probe>>;

    beforeAll(async () => {
      cluster = await Cluster.start(make);
      // The victim is older, so conflicts are decided in its favor.
      await cluster.service('victim');
      await cluster.service('evil', { namespace: 'evil' });
      cluster.put('Secret', secret('tls', authority.issue(['victim.io'])));
      cluster.put(
        'Ingress',
        ingress({
          name: 'victim',
          age: 1000,
          rules: { 'victim.io/': 'victim:80', '=other.io/a': 'victim:http' },
          tls: [{ hosts: ['victim.io'], secretName: 'tls' }],
        }),
      );
      cluster.put('IngressClass', classWithHeaders('X-Evil'));
      await cluster.serve();
      before = await probe(cluster.world);
      expect(before.answers).toEqual(['victim', 'victim', 'victim', 404, 404, 404]);
      expect(before.certificate).toBe('victim.io');
    });
    afterAll(() => cluster.stop());

    test.each(EVIL_TEXTS.map((text) => [title(text), text] as const))(
      'treats %s as data',
      async (_, text) => {
        const all = evilIngresses(text);
        for (const each of all) cluster.put('Ingress', each);
        for (const name of ['tls', text]) {
          cluster.put('Secret', secret(name, { certificate: text, key: text }, { namespace: 'evil' }));
          cluster.put('ConfigMap', configMap(name, { [text]: text }, 'evil'));
        }
        cluster.put('ConfigMap', configMap('value', { 'X-Evil': text }, 'evil'));
        await cluster.serve();
        expect(await probe(cluster.world)).toEqual(before);
        for (const { metadata } of all) cluster.remove('Ingress', `evil/${metadata.name}`);
        for (const name of ['tls', text]) cluster.remove('Secret', `evil/${name}`);
        for (const name of ['tls', 'value', text]) cluster.remove('ConfigMap', `evil/${name}`);
        await cluster.serve();
        expect(await probe(cluster.world)).toEqual(before);
      },
    );
  });

  describe('injection without the compiler', () => {
    let world: World;
    let before: Awaited<ReturnType<typeof probe>>;

    beforeAll(async () => {
      world = await World.start(make);
      const victim = await world.backend('victim');
      await world.change({
        hosts: [host('victim.io', 'victim'), host('other.io', [route('/a', 'victim', { match: 'Exact' })])],
        upstreams: [upstream('victim', [victim.port])],
        certificates: [certificate('victim.io', authority.issue(['victim.io']))],
      });
      before = await probe(world);
    });
    afterAll(() => world.stop());

    const harmless = EVIL_TEXTS.filter((text) => !text.includes('victim.io') && text !== '*');

    test.each(harmless.map((text) => [title(text), text] as const))(
      'treats %s in a table as data',
      async (_, text) => {
        const evil = await world.backend('evil');
        const routes = [
          route(text, text),
          route(text, text, { match: 'Exact', headers: [{ name: text.toLowerCase(), value: text }] }),
          route('/', text),
        ];
        await world.change({
          hosts: [host('evil.io', routes, { namespace: text }), host(text, routes)],
          upstreams: [upstream(text, [evil.port], { namespace: text, service: text })],
          certificates: [
            certificate(text, { certificate: text, key: text }),
            { ...certificate('evil.io', { certificate: text, key: text }), secret: text, fingerprint: text },
          ],
        });
        expect(await probe(world)).toEqual(before);
        expect(await world.respondingBackend('evil.io/')).toBe('evil');
        expect((await world.askSecurely('evil.io/')).status).toBe(200);
        const without = { hosts: ['evil.io', text], upstreams: [text], certificates: ['evil.io', text] };
        await world.change({ without });
        expect(await world.respondingBackend('evil.io/')).toBe(404);
        expect(await probe(world)).toEqual(before);
      },
    );

    test('treats text in requests as data', async () => {
      for (const text of EVIL_TEXTS) {
        const latin1 = Buffer.from(text).toString('latin1');
        const head = `GET ${latin1} HTTP/1.1\r\nHost: ${latin1}\r\nConnection: close\r\n\r\n`;
        expect(await askRaw(world.ports.http, head), title(text)).not.toMatch(/pwned|victim/);
        const value = latin1.replace(/[\0\r\n]/g, ' ');
        const headers = `User-Agent: ${value}\r\nX-Request-Id: ${value}\r\nReferer: ${value}\r\n`;
        const response = await askRaw(
          world.ports.http,
          `GET / HTTP/1.1\r\nHost: victim.io\r\n${headers}Connection: close\r\n\r\n`,
        );
        expect([200, 400, 431], title(text)).toContain(statusOf(response));
      }
      expect(await probe(world)).toEqual(before);
    });

    test('keeps the formats of metrics and access log', async () => {
      for (const line of (await world.driver.metrics()).split('\n')) {
        expect(line).toMatch(/^$|^# |^[a-z_]+(\{([a-z]+="([^"\\]|\\[\\"n])*",?)*\})? [-+0-9.eInf]+$/);
      }
      expect((await world.accessLog()).length).toBeGreaterThan(EVIL_TEXTS.length);
    });
  });
}

/** Ingresses with the text in every field that a tenant can write. */
function evilIngresses(text: string): Ingress[] {
  const plain = (name: string, more: Parameters<typeof ingress>[0] = {}): Ingress =>
    ingress({ name, namespace: 'evil', rules: { 'evil.io/': 'evil:80' }, ...more });
  const withRule = (
    name: string,
    rule: { host?: string; path?: string; pathType?: string; backend?: object },
  ): Ingress => {
    const { host: at = 'evil.io', path = '/', pathType = 'Prefix' } = rule;
    const backend = rule.backend ?? { service: { name: 'evil', port: { number: 80 } } };
    const made = plain(name);
    return {
      ...made,
      spec: { ...made.spec, rules: [{ host: at, http: { paths: [{ path, pathType, backend }] } }] },
    } as Ingress;
  };
  return [
    ...['Exact', 'Prefix', 'ImplementationSpecific'].map((pathType) =>
      withRule(`path-${pathType}`, { path: text, pathType }),
    ),
    withRule('path-type', { pathType: text }),
    withRule('host', { host: text }),
    withRule('service', { backend: { service: { name: text, port: { number: 80 } } } }),
    withRule('port', { backend: { service: { name: 'evil', port: { name: text } } } }),
    withRule('resource', { backend: { resource: { kind: text, name: text } } }),
    plain('annotations', { annotations: Object.fromEntries(ANNOTATIONS.map((name) => [name, text])) }),
    // One at a time too: an annotation that closes the host would hide what the others do.
    ...ANNOTATIONS.map((name, at) =>
      plain(`annotation-${at}`, {
        annotations: { [name]: text },
        rules: { [`evil${at}.io/(a)`]: 'evil:80', [`evil${at}.io/`]: 'evil:80' },
      }),
    ),
    ...['tls', 'value', text].map((name, at) =>
      plain(`headers-${at}`, {
        rules: { [`headers${at}.io/`]: 'evil:80' },
        annotations: {
          'nginx.ingress.kubernetes.io/custom-headers': name,
          'nginx.ingress.kubernetes.io/auth-url': 'http://auth.example.com/',
          'nginx.ingress.kubernetes.io/auth-proxy-set-headers': name,
        },
      }),
    ),
    plain('unknown', { annotations: { [`tidegate.io/${text}`]: text, [text]: text } }),
    plain('secret', { tls: [{ hosts: ['evil.io'], secretName: text }] }),
    plain('tls-host', { tls: [{ hosts: [text, 'evil.io'], secretName: 'tls' }] }),
    plain(text),
  ];
}
