/** Hosts with allow and deny lists: what cannot be protected is closed. */
import { describe, expect, test } from 'vitest';
import { applyDelta, EMPTY_TABLE, match } from '../match/index.ts';
import { CLASS, hostClaim, ingress, service, slice } from '../testing/objects.ts';
import { Compiler } from './index.ts';

const PREFIX = 'nginx.ingress.kubernetes.io/';
const LIST = { [`${PREFIX}allowlist-source-range`]: '10.0.0.0/8' };

function newCompiler(...hosts: string[]): Compiler {
  const compiler = new Compiler({ classNames: [CLASS], claimsRequired: true, now: Date.now });
  compiler.put('Service', service('web', ['http:80']));
  compiler.put('EndpointSlice', slice('web', { '10.0.0.1': {} }));
  for (const host of hosts) compiler.put('HostClaim', hostClaim(host, 'shop'));
  return compiler;
}

/** What answers: `closed`, `guarded` or `open`; or the kind of another result. */
function answer(compiler: Compiler, host: string, path: string, secure = true): string {
  compiler.flush();
  const found = match(applyDelta(EMPTY_TABLE, compiler.snapshot()), { host, path, headers: {}, secure });
  if (found.kind !== 'route') return found.kind;
  if (found.action.backends[0]?.upstream.endsWith('__closed')) return 'closed';
  return found.action.policy?.sources === undefined ? 'open' : 'guarded';
}

describe('a list and another annotation that is not valid', () => {
  test('close the host, not only the paths of the Ingress', () => {
    const compiler = newCompiler('a.io');
    const annotations = { ...LIST, [`${PREFIX}force-ssl-redirect`]: 'yes' };
    compiler.put('Ingress', ingress({ name: 'list', annotations, rules: { 'a.io/admin': 'web:80' } }));
    compiler.put('Ingress', ingress({ name: 'open', rules: { 'a.io/': 'web:80' } }));
    for (const path of ['/admin', '//admin', '/%61dmin', '/admin;x', '/'])
      expect({ path, answer: answer(compiler, 'a.io', path) }).toEqual({ path, answer: 'closed' });
  });

  test('without a list, only the paths of the Ingress are closed', () => {
    const compiler = newCompiler('a.io');
    const annotations = { [`${PREFIX}force-ssl-redirect`]: 'yes' };
    compiler.put('Ingress', ingress({ name: 'typo', annotations, rules: { 'a.io/admin': 'web:80' } }));
    compiler.put('Ingress', ingress({ name: 'open', rules: { 'a.io/': 'web:80' } }));
    expect(answer(compiler, 'a.io', '/admin')).toBe('closed');
    expect(answer(compiler, 'a.io', '/')).toBe('open');
  });
});

test('tls of an Ingress of another namespace does not redirect the host to HTTPS', () => {
  const compiler = newCompiler('a.io');
  const annotations = { [`${PREFIX}ssl-redirect`]: 'true' };
  compiler.put('Ingress', ingress({ name: 'own', age: 9, annotations, rules: { 'a.io/': 'web:80' } }));
  const tls = [{ hosts: ['a.io'] }];
  compiler.put('Ingress', ingress({ namespace: 'thief', name: 'evil', rules: { 'b.io/': 'web:80' }, tls }));
  expect(answer(compiler, 'a.io', '/', false)).toBe('open');
  compiler.put('Ingress', ingress({ name: 'secure', rules: { 'c.io/': 'web:80' }, tls }));
  expect(answer(compiler, 'a.io', '/', false)).toBe('redirect');
});

test('the oldest Ingress closes a host, whatever the order in which they are received', () => {
  const annotations = { [`${PREFIX}auth-snippet`]: 'http://auth' };
  const [old, young] = [9, 1].map((age) =>
    ingress({ name: `age-${age}`, age, annotations, rules: {}, tls: [{ hosts: ['a.io'] }] }),
  );
  const closers = [
    [old!, young!],
    [young!, old!],
  ].map((ingresses) => {
    const compiler = newCompiler('a.io');
    for (const each of ingresses) compiler.put('Ingress', each);
    compiler.flush();
    return [...compiler.snapshot().hosts.set].map(({ fallback }) => fallback?.source.name);
  });
  expect(closers).toEqual([['age-9'], ['age-9']]);
});

describe('a path with a list that is not served closes the host', () => {
  const list = (rules: Record<string, string>, more = {}) =>
    ingress({ name: 'list', age: 1, annotations: LIST, rules, ...more });

  test('if the host has too many paths', () => {
    const compiler = newCompiler('a.io');
    const paths = Array.from({ length: 4_999 }, (_, index) => [`a.io/p${index}`, 'web:80']);
    const rules = { 'a.io/': 'web:80', ...Object.fromEntries(paths) };
    compiler.put('Ingress', ingress({ name: 'many', age: 9, rules }));
    expect(answer(compiler, 'a.io', '/admin')).toBe('open');
    compiler.put('Ingress', list({ 'a.io/admin': 'web:80' }));
    for (const path of ['/admin', '/p1', '/', '//admin'])
      expect({ path, answer: answer(compiler, 'a.io', path) }).toEqual({ path, answer: 'closed' });
    compiler.remove('Ingress', 'shop/list');
    expect(answer(compiler, 'a.io', '/admin')).toBe('open');
  });

  test('if an older Ingress has the path', () => {
    const compiler = newCompiler('a.io', '*');
    compiler.put('Ingress', ingress({ name: 'old', age: 9, rules: { 'a.io/admin': 'web:80' } }));
    compiler.put('Ingress', ingress({ name: 'all', age: 9, rules: { '/': 'web:80' } }));
    compiler.put('Ingress', list({ 'a.io/admin': 'web:80' }));
    const { outcomes } = compiler.flush();
    expect(answer(compiler, 'a.io', '/admin')).toBe('closed');
    // Rules without a host do not answer for the closed host.
    expect(answer(compiler, 'a.io', '/x')).toBe('closed');
    expect(answer(compiler, 'b.io', '/x')).toBe('open');
    const problems = outcomes.set.flatMap(({ ingress: key, problems: own }) =>
      own.map(({ reason, message }) => `${key} ${reason} ${message}`),
    );
    expect(problems).toContainEqual(expect.stringMatching(/^shop\/list PathConflict /));
    expect(problems).toContainEqual(
      expect.stringMatching(/^shop\/old AccessControlNotSupported Ingress shop\/list .* 503/),
    );
  });

  test('if an older Ingress has the default backend', () => {
    const compiler = newCompiler('a.io');
    const defaultBackend = 'web:80';
    compiler.put('Ingress', ingress({ name: 'old', age: 9, defaultBackend, rules: { 'a.io/x': 'web:80' } }));
    compiler.put('Ingress', list({ 'a.io/admin': 'web:80' }, { defaultBackend }));
    expect(answer(compiler, 'a.io', '/zzz')).toBe('closed');
    expect(answer(compiler, 'a.io', '/x')).toBe('closed');
  });

  test('unless what is served in its place has the same list', () => {
    const compiler = newCompiler('a.io');
    compiler.put('Ingress', ingress({ name: 'open', age: 9, rules: { 'a.io/': 'web:80' } }));
    compiler.put('Ingress', list({ 'a.io/admin': 'web:80' }, { name: 'first', age: 9 }));
    compiler.put('Ingress', list({ 'a.io/admin': 'web:80', 'a.io/admin/': 'web:80' }));
    expect(answer(compiler, 'a.io', '/admin')).toBe('guarded');
    expect(answer(compiler, 'a.io', '/')).toBe('open');
  });
});

describe('a list and an alias that gives way to rules for the host', () => {
  const aliased = (annotations = {}) =>
    ingress({
      name: 'list',
      annotations: { ...LIST, [`${PREFIX}server-alias`]: 'b.io', ...annotations },
      rules: { 'a.io/admin': 'web:80' },
    });
  const rules = { 'b.io/': 'web:80' };

  test('close the host: its rules would serve the paths openly', () => {
    const compiler = newCompiler('a.io', 'b.io');
    compiler.put('Ingress', aliased());
    expect(answer(compiler, 'b.io', '/admin')).toBe('guarded');
    compiler.put('Ingress', ingress({ name: 'open', rules }));
    const { outcomes } = compiler.flush();
    expect(answer(compiler, 'a.io', '/admin')).toBe('guarded');
    for (const path of ['/admin', '/', '//admin'])
      expect({ path, answer: answer(compiler, 'b.io', path) }).toEqual({ path, answer: 'closed' });
    const problems = outcomes.set.flatMap(({ ingress: key, problems: own }) =>
      own.map(({ reason, message }) => `${key} ${reason} ${message}`),
    );
    expect(problems).toContainEqual(
      expect.stringMatching(/^shop\/list AccessControlNotSupported .*alias b\.io.*shop\/open.*503/),
    );
    expect(problems).toContainEqual(
      expect.stringMatching(/^shop\/open AccessControlNotSupported Ingress shop\/list .* 503/),
    );
    compiler.remove('Ingress', 'shop/open');
    expect(answer(compiler, 'b.io', '/admin')).toBe('guarded');
  });

  test('leave the host open if its rules have the same list', () => {
    const compiler = newCompiler('a.io', 'b.io');
    compiler.put('Ingress', aliased());
    compiler.put('Ingress', ingress({ name: 'other', annotations: LIST, rules }));
    expect(answer(compiler, 'b.io', '/admin')).toBe('guarded');
    expect(answer(compiler, 'b.io', '/')).toBe('guarded');
  });

  test('leave the host open if the alias is only redirected, or has no list', () => {
    const compiler = newCompiler('a.io', 'b.io');
    compiler.put('Ingress', aliased({ [`${PREFIX}permanent-redirect`]: 'https://c.io' }));
    compiler.put('Ingress', ingress({ name: 'open', rules }));
    expect(answer(compiler, 'b.io', '/admin')).toBe('open');
    const annotations = { [`${PREFIX}server-alias`]: 'b.io' };
    compiler.put('Ingress', ingress({ name: 'list', annotations, rules: { 'a.io/admin': 'web:80' } }));
    expect(answer(compiler, 'b.io', '/admin')).toBe('open');
  });

  test('close nothing of another namespace', () => {
    const compiler = newCompiler('a.io');
    compiler.put('HostClaim', hostClaim('b.io', 'other'));
    compiler.put('Service', service('web', ['http:80'], 'other'));
    compiler.put('Ingress', aliased());
    compiler.put('Ingress', ingress({ namespace: 'other', name: 'open', rules }));
    expect(answer(compiler, 'b.io', '/admin')).toBe('open');
  });
});

describe('a list on a host with regular expressions', () => {
  test.each(['/files(1)', '/a+b', '/a.b', '/caf%C3%A9', '/a//b'])('protects %s as it is written', (path) => {
    const compiler = newCompiler('a.io');
    const regex = { [`${PREFIX}use-regex`]: 'true' };
    compiler.put(
      'Ingress',
      ingress({ name: 'list', annotations: LIST, rules: { [`a.io${path}`]: 'web:80' } }),
    );
    compiler.put('Ingress', ingress({ name: 'open', rules: { 'a.io/': 'web:80' } }));
    compiler.put('Ingress', ingress({ name: 'new', annotations: regex, rules: { 'a.io/new/.*': 'web:80' } }));
    for (const asked of [path, `${path}/x`, `/${path}`, path.toLowerCase()])
      expect({ asked, answer: answer(compiler, 'a.io', asked) }).toEqual({ asked, answer: 'guarded' });
    expect(answer(compiler, 'a.io', '/new/x')).toBe('open');
    expect(answer(compiler, 'a.io', '/other')).toBe('open');
  });

  test.each([
    ['/caf%C3%A9(/|$)', '//caf%C3%A9/x'],
    ['/a//b', '/a///b'],
  ])('protects the expression %s also for %s', (path, asked) => {
    const compiler = newCompiler('a.io');
    const annotations = { ...LIST, [`${PREFIX}use-regex`]: 'true' };
    compiler.put('Ingress', ingress({ name: 'list', annotations, rules: { [`a.io${path}`]: 'web:80' } }));
    compiler.put('Ingress', ingress({ name: 'open', rules: { 'a.io/': 'web:80' } }));
    expect(answer(compiler, 'a.io', asked)).toBe('guarded');
  });

  test.each([
    ['/a;b', '/a'],
    ['/a\\b', '/a/b'],
    ['/a%5Cb', '/a/b'],
  ])('protects the path %s also for %s', (path, asked) => {
    const compiler = newCompiler('a.io');
    const regex = { [`${PREFIX}use-regex`]: 'true' };
    const rules = { [`a.io${path}`]: 'web:80' };
    compiler.put('Ingress', ingress({ name: 'list', annotations: LIST, rules }));
    compiler.put('Ingress', ingress({ name: 'open', rules: { 'a.io/': 'web:80' } }));
    compiler.put('Ingress', ingress({ name: 'new', annotations: regex, rules: { 'a.io/new/.*': 'web:80' } }));
    expect(answer(compiler, 'a.io', path)).toBe('guarded');
    expect(answer(compiler, 'a.io', asked)).toBe('guarded');
    expect(answer(compiler, 'a.io', '/other')).toBe('open');
  });

  test.each(['/a;b', '/a[;\\\\]b', '/x|/a;b', '/a%3Bb', '/a\\\\b', '/a\\x5cb', '/(a;)+'])(
    'closes the host for the expression %s: backends may read its paths in another way',
    (path) => {
      const compiler = newCompiler('a.io');
      const annotations = { ...LIST, [`${PREFIX}use-regex`]: 'true' };
      compiler.put('Ingress', ingress({ name: 'list', annotations, rules: { [`a.io${path}`]: 'web:80' } }));
      compiler.put('Ingress', ingress({ name: 'open', rules: { 'a.io/': 'web:80' } }));
      expect(answer(compiler, 'a.io', '/a')).toBe('closed');
      expect(answer(compiler, 'a.io', '/a/b')).toBe('closed');
    },
  );

  test.each(['/admin(;.*)?$', '/admin([;/].*)?', '/admin.*', '/[^/]+/admin', '/a\\b'])(
    'does not close it for the expression %s',
    (path) => {
      const compiler = newCompiler('a.io');
      const annotations = { ...LIST, [`${PREFIX}use-regex`]: 'true' };
      compiler.put('Ingress', ingress({ name: 'list', annotations, rules: { [`a.io${path}`]: 'web:80' } }));
      compiler.put('Ingress', ingress({ name: 'open', rules: { 'a.io/': 'web:80' } }));
      expect(answer(compiler, 'a.io', '/other')).toBe('open');
    },
  );
});
