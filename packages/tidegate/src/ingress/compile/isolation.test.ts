import { type Ingress, keyOf } from '@tidegate/kube';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { applyDelta, EMPTY_TABLE, match, type RouteTable } from '../match/index.ts';
import { anyIngress, HOSTS, NAMESPACES, SECRETS } from '../testing/any-ingress.ts';
import { TestAuthority } from '../testing/certificates.ts';
import { CLASS, secret } from '../testing/objects.ts';
import { Compiler } from './index.ts';

const pair = new TestAuthority().issue([...HOSTS]);

const compiler = new Compiler({ classNames: [CLASS], now: Date.now });
for (const namespace of [...NAMESPACES, 'thieves']) {
  for (const name of SECRETS) compiler.put('Secret', secret(name, pair, { namespace }));
}

/** Parsing certificates is slow, so all calls share a compiler: Secrets stay, Ingresses are added and removed. */
function tableOf(ingresses: Ingress[]): RouteTable {
  for (const ingress of ingresses) compiler.put('Ingress', ingress);
  compiler.flush();
  const table = applyDelta(EMPTY_TABLE, compiler.snapshot());
  for (const ingress of ingresses) compiler.remove('Ingress', keyOf(ingress));
  return table;
}

const owned = (ingress: Ingress, namespace: string, creationTimestamp: string): Ingress => ({
  ...ingress,
  metadata: { ...ingress.metadata, namespace, creationTimestamp },
});

test('a later Ingress of another namespace does not change the routes and certificates of a host', () => {
  const ingresses = fc.uniqueArray(anyIngress, { selector: keyOf, minLength: 1, maxLength: 5 });
  fc.assert(
    fc.property(ingresses, ingresses, (ours, theirs) => {
      const before = tableOf(ours);
      const thieves = theirs.map((each) => owned(each, 'thieves', '2027-01-01T00:00:00Z'));
      const after = tableOf([...ours, ...thieves]);
      for (const [host, routes] of before.hosts.entries()) {
        if (host !== '') expect(after.hosts.get(host)).toEqual(routes);
        else expect(after.hosts.get('')?.routes).toEqual(expect.arrayContaining([...routes.routes]));
      }
      // A certificate without a list of hosts does not claim the hosts in its DNS names.
      const named = new Set(
        ours
          .filter(({ spec }) => spec?.ingressClassName === CLASS)
          .flatMap(({ spec }) => (spec?.tls ?? []).flatMap(({ hosts }) => hosts ?? [])),
      );
      for (const [host, certificate] of before.certificates.entries()) {
        if (named.has(host)) expect(after.certificates.get(host)).toEqual(certificate);
      }
    }),
    { numRuns: 200 },
  );
});

test('all routes and upstreams of a named host are of one namespace', () => {
  fc.assert(
    fc.property(
      fc.array(anyIngress, { maxLength: 6 }),
      fc.constantFrom('a.x.io', 'b.x.io', 'c.x.io', 'b.y.io'),
      fc.constantFrom('/', '/p', '/p/q/r'),
      (ingresses, host, path) => {
        const found = match(tableOf(ingresses), { host, path, headers: {}, secure: true });
        if (found.kind !== 'route' || found.host.host === '') return;
        expect(found.action.source.namespace).toBe(found.host.namespace);
        for (const { upstream } of found.action.backends)
          expect(upstream.startsWith(`${found.host.namespace}_`)).toBe(true);
      },
    ),
    { numRuns: 200 },
  );
});

/** The hosts that Ingresses of the namespace name and ask to protect. */
const closedBy = (ingresses: Ingress[], namespace: string): Set<string> =>
  new Set(
    ingresses
      .filter(({ metadata, spec }) => metadata.namespace === namespace && spec?.ingressClassName === CLASS)
      .filter(
        ({ metadata }) => metadata.annotations?.['nginx.ingress.kubernetes.io/auth-snippet'] !== undefined,
      )
      .flatMap(({ spec }) => [
        ...(spec?.rules ?? []).map(({ host = '' }) => host),
        // An empty name in `tls` means nothing.
        ...(spec?.tls ?? []).flatMap(({ hosts = [] }) => hosts.filter((host) => host !== '')),
      ]),
  );

test('no rule of a namespace answers for a host that the namespace asks to protect', () => {
  let closed = 0;
  fc.assert(
    fc.property(
      fc.uniqueArray(anyIngress, { selector: keyOf, maxLength: 6 }),
      fc.constantFrom('a.x.io', 'b.x.io', 'c.x.io', 'b.y.io', 'z.io'),
      fc.constantFrom('/', '/p', '/P', '//p', '/p;q', '/p/q/r'),
      (ingresses, host, path) => {
        const found = match(tableOf(ingresses), { host, path, headers: {}, secure: true });
        if (found.kind !== 'route') return;
        const { namespace } = found.action.source;
        const hosts = closedBy(ingresses, namespace);
        if (!hosts.has(host) && !hosts.has(found.host.host)) return;
        closed++;
        expect(found.action.backends).toEqual([{ upstream: `${namespace}__closed`, weight: 1 }]);
      },
    ),
    { numRuns: 500 },
  );
  expect(closed).toBeGreaterThan(5);
});
