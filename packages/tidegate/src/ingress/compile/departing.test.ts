/** Ingresses that have left the class of a router, and that the router serves until clients have followed. */
import { beforeEach, describe, expect, test } from 'vitest';
import { applyDelta, EMPTY_TABLE, match } from '../match/index.ts';
import { CLASS, hostClaim, ingress, service, slice } from '../testing/objects.ts';
import { Compiler } from './index.ts';

let compiler: Compiler;
beforeEach(() => {
  compiler = new Compiler({ classNames: [CLASS], claimsRequired: true, now: Date.now });
  for (const namespace of ['bank', 'tenant']) {
    compiler.put('Service', service('web', ['http:80'], namespace));
    compiler.put('EndpointSlice', slice('web', { '10.0.0.1': {} }, { namespace }));
  }
  compiler.put('HostClaim', hostClaim('*.bank.io', 'bank', { since: 100 }));
  compiler.put('Ingress', ingress({ namespace: 'bank', rules: { '*.bank.io/': 'web:80' } }));
});

/** The Ingress that answers. */
function answer(host: string): string {
  const table = applyDelta(EMPTY_TABLE, compiler.snapshot());
  const found = match(table, { host, path: '/', headers: {}, secure: true });
  return found.kind === 'route' ? `${found.action.source.namespace}/${found.action.source.name}` : found.kind;
}

const tenant = (hosts: readonly string[], className: string) =>
  ingress({
    namespace: 'tenant',
    className,
    age: 50,
    rules: Object.fromEntries(hosts.map((host) => [`${host}/`, 'web:80'])),
  });

function depart(hosts: readonly string[]): void {
  compiler.setDeparting({ ingresses: new Set(['tenant/web']), classes: new Map() });
  compiler.put('Ingress', tenant(hosts, 'silver'));
  compiler.flush();
}

describe('an Ingress that has changed its class', () => {
  test('is served for the hosts that its namespace has in the old class, and for no others', () => {
    compiler.put('HostClaim', hostClaim('t.io', 'tenant', { since: 50 }));
    compiler.put('Ingress', tenant(['t.io'], CLASS));
    for (const host of ['t.io', 'phish.bank.io', 'other.io'])
      compiler.put('HostClaim', hostClaim(host, 'tenant', { className: 'silver', since: 10 }));
    depart(['t.io', 'phish.bank.io', 'other.io']);
    expect(answer('t.io')).toBe('tenant/web');
    expect(answer('phish.bank.io')).toBe('bank/web');
    expect(answer('other.io')).toBe('notFound');
    expect(compiler.hasRoutes('other.io')).toBe(false);
  });

  test('is not served any more when the claim of the old class ends', () => {
    const claim = hostClaim('t.io', 'tenant', { since: 50 });
    compiler.put('HostClaim', claim);
    depart(['t.io']);
    expect(answer('t.io')).toBe('tenant/web');
    compiler.remove('HostClaim', `${claim.metadata.name}`);
    compiler.flush();
    expect(answer('t.io')).toBe('notFound');
  });

  test('has rules without a host only if its namespace may have them in the old class', () => {
    compiler.put('HostClaim', hostClaim('*', 'tenant', { className: 'silver', since: 10 }));
    depart(['']);
    expect(answer('any.io')).toBe('notFound');
    compiler.put('HostClaim', hostClaim('*', 'tenant', { since: 10 }));
    compiler.flush();
    expect(answer('any.io')).toBe('tenant/web');
  });

  test('does not wait for claims of the old class, and has no problems there', () => {
    depart(['new.io']);
    expect(compiler.isAwaited('new.io')).toBe(false);
    expect(compiler.hasAwaited()).toBe(false);
  });
});

describe('an Ingress whose class has left a shared address', () => {
  const claimed = (host: string, since: number) =>
    compiler.put('HostClaim', hostClaim(host, 'tenant', { className: 'silver', since }));
  const leftAt = Date.parse(hostClaim('t.io', 'tenant', { since: 20 }).spec.since);
  const leave = () =>
    compiler.setDeparting({
      ingresses: new Set(['tenant/web']),
      classes: new Map([['silver', leftAt]]),
    });

  test('is served for the hosts that its namespace had at that time, and not for later ones', () => {
    claimed('t.io', 50);
    claimed('phish.bank.io', 10);
    claimed('other.io', 10);
    leave();
    compiler.put('Ingress', tenant(['t.io', 'phish.bank.io', 'other.io', ''], 'silver'));
    claimed('*', 10);
    compiler.flush();
    expect(answer('t.io')).toBe('tenant/web');
    expect(answer('phish.bank.io')).toBe('bank/web');
    expect(answer('other.io')).toBe('notFound');
    claimed('*', 20);
    compiler.flush();
    expect(answer('other.io')).toBe('tenant/web');
  });

  test('leaves nothing behind when it has departed', () => {
    claimed('x.bank.io', 50);
    leave();
    compiler.flush();
    // The claim keeps requests to the host from the owner of the wildcard.
    expect(answer('x.bank.io')).not.toBe('bank/web');
    compiler.setDeparting({ ingresses: new Set(), classes: new Map() });
    compiler.flush();
    expect(answer('x.bank.io')).toBe('bank/web');
  });
});
