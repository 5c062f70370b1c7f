import { describe, expect, test } from 'vitest';
import { applyDelta, certificateFor, EMPTY_TABLE, match, type RouteTable } from '../match/index.ts';
import { TestAuthority } from '../testing/certificates.ts';
import { CLASS, hostClaim, ingress, secret, service, slice } from '../testing/objects.ts';
import { Compiler } from './index.ts';

const newCompiler = (claimsRequired = true, hosts?: string[]): Compiler => {
  const compiler = new Compiler({
    classNames: [CLASS],
    claimsRequired,
    ...(hosts && { hosts }),
    now: Date.now,
  });
  for (const namespace of ['shop', 'thief']) {
    compiler.put('Service', service('web', ['http:80'], namespace));
    compiler.put('EndpointSlice', slice('web', { '10.0.0.1': {} }, { namespace }));
  }
  return compiler;
};

/** Flushes, and returns the whole table. */
function tableOf(compiler: Compiler): RouteTable {
  compiler.flush();
  return applyDelta(EMPTY_TABLE, compiler.snapshot());
}

/** The Ingress that answers, or what happens instead. */
function answerOf(compiler: Compiler, host: string, path = '/'): string {
  const found = match(tableOf(compiler), { host, path, headers: {}, secure: true });
  return found.kind === 'route' ? `${found.action.source.namespace}/${found.action.source.name}` : found.kind;
}

const problemsOf = (compiler: Compiler): Record<string, string[]> =>
  Object.fromEntries(
    compiler
      .flush()
      .outcomes.set.map(({ ingress: key, problems }) => [key, problems.map(({ reason }) => reason)]),
  );

const HOST = 'a.example.com';
const owner = ingress({ rules: { [`${HOST}/`]: 'web:80' } });
const older = ingress({ namespace: 'thief', age: 9_999, rules: { [`${HOST}/`]: 'web:80' } });

describe('a host', () => {
  test('belongs to the namespace of its claim, not to that of the oldest Ingress', () => {
    for (const claimsRequired of [true, false]) {
      const compiler = newCompiler(claimsRequired);
      compiler.put('HostClaim', hostClaim(HOST, 'shop'));
      compiler.put('Ingress', older);
      compiler.put('Ingress', owner);
      expect(answerOf(compiler, HOST)).toBe('shop/web');
    }
  });

  test('is not served until its claim is recorded, if claims are required', () => {
    const compiler = newCompiler();
    compiler.put('Ingress', owner);
    expect(problemsOf(compiler)).toEqual({ 'shop/web': ['HostNotClaimed'] });
    expect(answerOf(compiler, HOST)).toBe('notFound');
    compiler.put('HostClaim', hostClaim(HOST, 'shop'));
    expect(answerOf(compiler, HOST)).toBe('shop/web');
    compiler.remove('HostClaim', `${hostClaim(HOST, 'shop').metadata.name}`);
    expect(answerOf(compiler, HOST)).toBe('notFound');
  });

  test('moves with its claim, and other Ingresses get a problem that names its owner', () => {
    const compiler = newCompiler();
    compiler.put('Ingress', older);
    compiler.put('Ingress', owner);
    compiler.put('HostClaim', hostClaim(HOST, 'thief'));
    expect(problemsOf(compiler)).toMatchObject({ 'shop/web': ['HostConflict'], 'thief/web': [] });
    compiler.put('HostClaim', hostClaim(HOST, 'shop'));
    expect(problemsOf(compiler)).toMatchObject({ 'shop/web': [], 'thief/web': ['HostConflict'] });
  });

  test('belongs to the earliest claim of classes that share an address', () => {
    const compiler = new Compiler({ classNames: [CLASS, 'silver'], claimsRequired: true, now: Date.now });
    compiler.put('Ingress', owner);
    compiler.put(
      'Ingress',
      ingress({ namespace: 'thief', className: 'silver', rules: { [`${HOST}/`]: 'web:80' } }),
    );
    compiler.put('HostClaim', hostClaim(HOST, 'thief', { className: 'silver', since: 1 }));
    compiler.put('HostClaim', hostClaim(HOST, 'shop', { since: 2 }));
    compiler.put('HostClaim', hostClaim(HOST, 'elsewhere', { className: 'copper', since: 3 }));
    expect(answerOf(compiler, HOST)).toBe('shop/web');
  });
});

test('rules without a host do not answer below a wildcard that only tls of another namespace names', () => {
  for (const claimsRequired of [true, false]) {
    const compiler = newCompiler(claimsRequired);
    compiler.put('HostClaim', hostClaim('*.example.com', 'shop'));
    compiler.put('HostClaim', hostClaim('*', 'thief'));
    compiler.put('Ingress', ingress({ tls: [{ hosts: ['*.example.com'] }] }));
    compiler.put('Ingress', ingress({ namespace: 'thief', rules: { '/': 'web:80' } }));
    expect(answerOf(compiler, HOST)).toBe('notFound');
    expect(answerOf(compiler, 'other.org')).toBe('thief/web');
  }
});

test('a host that only tls names uses the rules of a wildcard of its namespace', () => {
  for (const claimsRequired of [true, false]) {
    const compiler = newCompiler(claimsRequired);
    const tls = [{ hosts: [HOST] }];
    compiler.put('HostClaim', hostClaim(HOST, 'shop'));
    compiler.put('Ingress', ingress({ name: 'tls', tls }));
    expect(answerOf(compiler, HOST)).toBe('notFound');
    compiler.put('HostClaim', hostClaim('*.example.com', 'shop'));
    compiler.put('Ingress', ingress({ rules: { '*.example.com/': 'web:80' } }));
    expect(answerOf(compiler, HOST)).toBe('shop/web');
    compiler.put('HostClaim', hostClaim('*.example.com', 'thief'));
    compiler.put('Ingress', ingress({ namespace: 'thief', rules: { '*.example.com/': 'web:80' } }));
    expect(answerOf(compiler, HOST)).toBe('notFound');
    expect(answerOf(compiler, 'b.example.com')).toBe('thief/web');
  }
});

describe('without a manager', () => {
  test('a wildcard owns what is below it, except what an older Ingress of another namespace has', () => {
    const compiler = newCompiler(false);
    const wildcard = ingress({ age: 5, rules: { '*.example.com/': 'web:80' } });
    compiler.put(
      'Ingress',
      ingress({ namespace: 'thief', name: 'late', age: 1, rules: { [`${HOST}/`]: 'web:80' } }),
    );
    compiler.put(
      'Ingress',
      ingress({ namespace: 'thief', name: 'deep', rules: { 'x.b.example.com/': 'web:80' } }),
    );
    expect(answerOf(compiler, HOST)).toBe('thief/late');
    compiler.put('Ingress', wildcard);
    expect(problemsOf(compiler)).toMatchObject({
      'thief/late': ['HostConflict'],
      'thief/deep': ['HostConflict'],
    });
    expect(answerOf(compiler, HOST)).toBe('shop/web');
    expect(answerOf(compiler, 'x.b.example.com')).toBe('notFound');
    compiler.put(
      'Ingress',
      ingress({ namespace: 'thief', name: 'early', age: 9, rules: { [`${HOST}/`]: 'web:80' } }),
    );
    expect(answerOf(compiler, HOST)).toBe('thief/early');
    compiler.remove('Ingress', 'thief/early');
    compiler.remove('Ingress', 'shop/web');
    expect(answerOf(compiler, HOST)).toBe('thief/late');
  });
});

describe('rules without a host', () => {
  const claims = (compiler: Compiler): void => {
    compiler.put('HostClaim', hostClaim('*', 'thief', { since: 9 }));
    compiler.put('HostClaim', hostClaim('*', 'shop'));
    compiler.put('HostClaim', hostClaim(HOST, 'shop'));
    compiler.put('HostClaim', hostClaim('*.shop.example.com', 'shop'));
  };
  const everywhere = ingress({ namespace: 'thief', name: 'all', rules: { '/.well-known': 'web:80' } });

  test('never answer for a host of another namespace, also below its wildcard', () => {
    const compiler = newCompiler();
    claims(compiler);
    compiler.put('Ingress', everywhere);
    compiler.put(
      'Ingress',
      ingress({ rules: { [`${HOST}/x`]: 'web:80', '*.shop.example.com/x': 'web:80' } }),
    );
    const challenge = '/.well-known/acme-challenge/x';
    expect(answerOf(compiler, HOST, challenge)).toBe('notFound');
    expect(answerOf(compiler, 'b.shop.example.com', challenge)).toBe('notFound');
    expect(answerOf(compiler, 'c.b.shop.example.com', challenge)).toBe('notFound');
    expect(answerOf(compiler, 'free.example.com', challenge)).toBe('thief/all');
    compiler.put('Ingress', ingress({ name: 'own', rules: { '/.well-known/x': 'web:80' } }));
    expect(answerOf(compiler, HOST, '/.well-known/x')).toBe('shop/own');
  });

  test('do not answer for an owned host without rules, or on another router', () => {
    const compiler = newCompiler(true, ['b.example.com']);
    claims(compiler);
    compiler.put('Ingress', everywhere);
    compiler.put('Ingress', ingress({ rules: { [`${HOST}/`]: 'web:80' } }));
    expect(answerOf(compiler, HOST, '/.well-known/x')).toBe('notFound');
    compiler.setServedHosts([HOST]);
    expect(answerOf(compiler, HOST, '/x')).toBe('shop/web');
    compiler.put('Ingress', ingress({ tls: [{ hosts: [HOST] }] }));
    expect(answerOf(compiler, HOST, '/.well-known/x')).toBe('notFound');
  });

  test('need a claim, and the namespace with the earlier claim gets a path', () => {
    const compiler = newCompiler();
    compiler.put('Ingress', ingress({ namespace: 'thief', age: 9_999, rules: { '/': 'web:80' } }));
    compiler.put('Ingress', ingress({ rules: { '/': 'web:80' } }));
    expect(answerOf(compiler, 'x.example.com')).toBe('notFound');
    compiler.put('HostClaim', hostClaim('*', 'thief'));
    expect(answerOf(compiler, 'x.example.com')).toBe('thief/web');
    compiler.put('HostClaim', hostClaim('*', 'shop', { since: 1 }));
    expect(answerOf(compiler, 'x.example.com')).toBe('shop/web');
  });
});

describe('the certificate of a wildcard', () => {
  const authority = new TestAuthority();
  const wildcard = ingress({
    rules: { '*.example.com/': 'web:80' },
    tls: [{ hosts: ['*.example.com'], secretName: 'cert' }],
  });

  test('is not used for a host below it that belongs to another namespace', () => {
    const compiler = newCompiler();
    compiler.put('Secret', secret('cert', authority.issue(['*.example.com'])));
    compiler.put('HostClaim', hostClaim('*.example.com', 'shop'));
    compiler.put('Ingress', wildcard);
    const secretFor = (host: string): string | undefined => certificateFor(tableOf(compiler), host)?.secret;
    expect(secretFor(HOST)).toBe('shop/cert');
    compiler.put('HostClaim', hostClaim(HOST, 'thief'));
    compiler.put('Ingress', older);
    expect(secretFor(HOST)).toBeUndefined();
    expect(secretFor('b.example.com')).toBe('shop/cert');
    compiler.remove('Ingress', 'thief/web');
    compiler.put('HostClaim', hostClaim(HOST, 'shop'));
    expect(secretFor(HOST)).toBe('shop/cert');
  });
});
