/** An Ingress that was stored with more hosts or paths than admission accepts. */
import type { Ingress } from '@tidegate/kube';
import { describe, expect, it } from 'vitest';
import { ingress } from '../testing/objects.ts';
import { Compiler } from './compiler.ts';
import { MOST_ALIASES, MOST_PATHS, readIngress } from './ingress-facts.ts';
import { LONGEST_PATH } from './written-path.ts';

const MOST = 1_000;
const AUTH = { 'nginx.ingress.kubernetes.io/auth-snippet': 'http://a' };
const hosts = (count: number, offset = 0): string[] =>
  Array.from({ length: count }, (_, index) => `h${index + offset}.example.com`);
const named = (names: readonly string[], annotations?: Record<string, string>): Ingress =>
  ingress({
    name: 'many',
    rules: Object.fromEntries(names.map((host) => [`${host}/private`, 'web:80'])),
    ...(annotations && { annotations }),
  });
const problem = (field: string, count: number) => ({
  reason: 'TooManyHosts',
  about: 'routes',
  field,
  message: `An Ingress can have 1000 hosts, and as many entries of spec.tls. ${count} fields exceed this, and are ignored: write them in other Ingresses.`,
});

describe('an Ingress with too many hosts', () => {
  it('has the first of them, and a problem', () => {
    const { claims, problems } = readIngress(named(hosts(30_000)));
    expect([...claims.keys()]).toEqual(hosts(MOST));
    expect(problems).toEqual([problem(`spec.rules[${MOST}].host`, 29_000)]);
    expect(readIngress(named(hosts(MOST))).problems).toEqual([]);
  });

  it('has no more hosts because of tls, and no more entries', () => {
    const tls = [{ hosts: hosts(20_000), secretName: 'a' }];
    const { claims, problems, tls: entries } = readIngress(ingress({ tls }));
    expect(claims.size).toBe(MOST);
    expect(entries[0]?.hosts).toEqual(hosts(MOST));
    expect(problems).toEqual([problem(`spec.tls[0].hosts[${MOST}]`, 19_000)]);
    const secrets = Array.from({ length: 20_000 }, (_, index) => ({ secretName: `s${index}` }));
    const read = readIngress(ingress({ tls: secrets }));
    expect(read.tls).toHaveLength(MOST);
    expect(read.problems).toEqual([problem(`spec.tls[${MOST}]`, 19_000)]);
  });

  it('closes the hosts of entries of tls beyond the limit, if it asks for a protection', () => {
    const tls = Array.from({ length: 1_500 }, (_, index) => ({ hosts: [`h${index}.example.com`, ''] }));
    const { claims, problems } = readIngress(ingress({ tls, annotations: AUTH }));
    expect(claims.get('h1400.example.com')).toMatchObject({ closesHost: true, isLeftOut: true });
    expect(problems.at(-1)).toEqual(problem(`spec.tls[${MOST}]`, 500));
  });

  it('can name a host again that it has', () => {
    const { problems } = readIngress({
      ...named(hosts(MOST)),
      spec: { ...named(hosts(MOST)).spec, tls: [{ hosts: hosts(MOST), secretName: 'a' }] },
    });
    expect(problems).toEqual([]);
  });

  it('closes all of them if it asks for a protection', () => {
    const compiler = new Compiler({ classNames: ['gold'], now: () => 0 });
    compiler.put('Ingress', named(hosts(5_000), AUTH));
    compiler.put('Ingress', ingress({ name: 'open', rules: { 'h4000.example.com/': 'web:80' } }));
    compiler.put('Ingress', ingress({ name: 'wild', rules: { '*.example.com/': 'web:80' } }));
    const { delta, outcomes } = compiler.flush();
    const upstreamsOf = (name: string): unknown =>
      delta?.hosts.set
        .filter(({ host }) => host === name)
        .map(({ routes, fallback }) => [
          ...routes.map(({ action }) => action.backends[0]?.upstream),
          fallback?.backends[0]?.upstream,
        ]);
    expect(upstreamsOf('h4000.example.com')).toEqual([['shop__closed', 'shop__closed']]);
    // Only the wildcard would serve it.
    expect(upstreamsOf('h4001.example.com')).toEqual([['shop__closed']]);
    expect(upstreamsOf('*.example.com')).toEqual([['shop_web_80', undefined]]);
    const many = outcomes.set.find(({ ingress: key }) => key === 'shop/many');
    expect(many?.hosts).toHaveLength(MOST);
    expect(many?.problems.map(({ reason }) => reason)).toEqual(['AccessControlNotSupported', 'TooManyHosts']);
  });
});

const pathsOf = (count: number, prefix = '/p'): string[] =>
  Array.from({ length: count }, (_, index) => `${prefix}${index}`);
const withPaths = (name: string, host: string, paths: readonly string[], namespace = 'shop'): Ingress =>
  ingress({ name, namespace, rules: Object.fromEntries(paths.map((path) => [`${host}${path}`, 'web:80'])) });
const oneRule = (paths: readonly string[]): Ingress => {
  const backend = { service: { name: 'web', port: { number: 80 } } };
  const rule = {
    host: 'a.example.com',
    http: { paths: paths.map((path) => ({ path, pathType: 'Prefix', backend })) },
  };
  const base = ingress({ name: 'many' });
  return { ...base, spec: { ...base.spec, rules: [rule, { ...rule, host: 'b.example.com' }] } };
};

describe('an Ingress with too many paths', () => {
  it('has the first of them, and one problem', () => {
    const { claims, problems } = readIngress(oneRule(pathsOf(3_000)));
    expect(claims.get('a.example.com')?.routes).toHaveLength(3_000);
    expect(claims.get('b.example.com')?.routes).toHaveLength(MOST_PATHS - 3_000);
    expect(problems).toEqual([
      {
        reason: 'TooManyPaths',
        about: 'routes',
        field: 'spec.rules[1].http.paths[2000]',
        message:
          'An Ingress can have 5000 paths. This one and all that follow are not served: write them in other Ingresses.',
      },
    ]);
    expect(readIngress(oneRule(pathsOf(MOST_PATHS / 2))).problems).toEqual([]);
    expect(readIngress(oneRule(pathsOf(MOST_PATHS))).problems).toHaveLength(1);
  });

  it('leaves out long paths only, in a time that grows with their length only', () => {
    // Each slash was the start of a search through all that follow: minutes for a path like this.
    const long = `${'/'.repeat(1_000_000)}x`;
    const { claims, problems } = readIngress(oneRule([long, '/short', `/${'y'.repeat(LONGEST_PATH - 1)}`]));
    expect(claims.get('a.example.com')?.routes.map(({ value }) => value.path.length)).toEqual([
      6,
      LONGEST_PATH,
    ]);
    expect(problems[0]).toMatchObject({ reason: 'InvalidPath', field: 'spec.rules[0].http.paths[0].path' });
    expect(problems[0]?.message).toContain('has 1000001 characters, the limit is 4096');
  });
});

describe('a namespace with too many paths of a host', () => {
  const compiled = (...ingresses: Ingress[]) => {
    const compiler = new Compiler({ classNames: ['gold'], now: () => 0 });
    for (const each of ingresses) compiler.put('Ingress', each);
    const { delta, outcomes } = compiler.flush();
    return {
      routes: (name: string) => delta?.hosts.set.find(({ host }) => host === name)?.routes ?? [],
      problems: (key: string) => outcomes.set.find(({ ingress: each }) => each === key)?.problems,
    };
  };

  it('has those of its oldest Ingresses', () => {
    const { routes, problems } = compiled(
      withPaths('a', 'x.io', pathsOf(4_000, '/a')),
      withPaths('b', 'x.io', pathsOf(4_000, '/b')),
    );
    expect(routes('x.io')).toHaveLength(5_000);
    expect(problems('shop/a')?.filter(({ reason }) => reason === 'TooManyPaths')).toEqual([]);
    expect(problems('shop/b')).toContainEqual(
      expect.objectContaining({ reason: 'TooManyPaths', field: 'spec.rules[1000].http.paths[0].path' }),
    );
  });

  it('takes nothing from other namespaces with rules without a host', () => {
    const { routes, problems } = compiled(
      withPaths('a', '', pathsOf(6_000, '/a')),
      withPaths('b', '', ['/b'], 'other'),
    );
    expect(routes('')).toHaveLength(5_001);
    expect(problems('other/b')?.map(({ reason }) => reason)).not.toContain('TooManyPaths');
  });
});

describe('a guarded host with paths that servers read in many ways', () => {
  const guard = { 'nginx.ingress.kubernetes.io/allowlist-source-range': '10.0.0.0/8' };
  const ODD = '/%255Cb%2525b%5Cb%255Cb;b%252Fb%252Fb';
  const many = (name: string, paths: readonly string[], annotations: Record<string, string>): Ingress => ({
    ...ingress({ name, annotations }),
    spec: withPaths(name, 'x.io', paths).spec!,
  });
  const odd = (count: number, prefix: string): string[] =>
    pathsOf(count, prefix).map((path) => `${path}${ODD}`);
  const compiled = (...ingresses: Ingress[]) => {
    const compiler = new Compiler({ classNames: ['gold'], now: () => 0 });
    for (const each of ingresses) compiler.put('Ingress', each);
    const { delta, outcomes } = compiler.flush();
    const routes = delta?.hosts.set.find(({ host }) => host === 'x.io')?.routes ?? [];
    return {
      upstreams: new Set(routes.map(({ action }) => action.backends[0]?.upstream)),
      problems: outcomes.set.flatMap(({ problems }) => problems),
    };
  };

  it('is closed if one Ingress has too many of them', () => {
    const { upstreams, problems } = compiled(many('a', odd(4_900, '/a'), guard));
    expect(upstreams).toEqual(new Set(['shop__closed']));
    expect(problems).toContainEqual(
      expect.objectContaining({
        reason: 'TooManyPaths',
        message: expect.stringContaining('10000 ways in which servers may read its paths'),
      }),
    );
  });

  it('is closed if several Ingresses have too many of them together', () => {
    const each = (name: string): Ingress => many(name, odd(300, `/${name}`), guard);
    const { upstreams, problems } = compiled(each('a'), each('b'), each('c'), each('d'));
    expect(upstreams).toEqual(new Set(['shop__closed']));
    expect(problems.map(({ reason }) => reason)).toContain('TooManyPaths');
    expect(compiled(each('a')).problems.map(({ reason }) => reason)).not.toContain('TooManyPaths');
  });

  it('counts the characters of long paths', () => {
    const long = pathsOf(500, `/${'x'.repeat(3_000)}`);
    expect(compiled(many('a', long, guard)).upstreams).toEqual(new Set(['shop__closed']));
    expect(compiled(many('a', long, {})).upstreams).toEqual(new Set(['shop_web_80']));
  });

  it('can have 5000 paths with percent-encoding', () => {
    const { problems } = compiled(many('a', pathsOf(MOST_PATHS, '/caf%C3%A9/'), guard));
    expect(problems.map(({ reason }) => reason)).not.toContain('TooManyPaths');
  });
});

describe('an Ingress with long lists', () => {
  const range = 'nginx.ingress.kubernetes.io/allowlist-source-range';
  const listed = (networks: number, paths: number) =>
    readIngress(
      ingress({
        rules: Object.fromEntries(pathsOf(paths).map((path) => [`a.io${path}`, 'web:80'])),
        annotations: {
          [range]: Array.from({ length: networks }, (_, at) => `10.${at >> 8}.${at & 255}.0/24`).join(','),
        },
      }),
    );

  it('is closed if they apply to too many paths', () => {
    const { claims, problems } = listed(1_000, MOST_PATHS);
    expect(claims.get('a.io')?.closesHost).toBe(true);
    expect(problems).toEqual([expect.objectContaining({ reason: 'TooManyPaths', field: 'spec.rules' })]);
  });

  it.each([
    [1_000, 300],
    [30, MOST_PATHS],
  ])('can have %d networks with %d paths', (networks, paths) => {
    expect(listed(networks, paths).problems).toEqual([]);
  });
});

describe('an Ingress with too many aliases', () => {
  const aliased = (aliases: number, paths: number, annotations: Record<string, string> = {}) =>
    readIngress(
      ingress({
        rules: Object.fromEntries(pathsOf(paths).map((path) => [`a.io${path}`, 'web:80'])),
        annotations: {
          'nginx.ingress.kubernetes.io/server-alias': hosts(aliases).join(','),
          ...annotations,
        },
      }),
    );

  it('has the first of them, and one problem', () => {
    const { claims, problems } = aliased(1_000, 2);
    expect(claims.size).toBe(1 + MOST_ALIASES);
    expect(problems).toEqual([
      expect.objectContaining({
        reason: 'TooManyHosts',
        field: 'metadata.annotations[nginx.ingress.kubernetes.io/server-alias]',
        message: expect.stringContaining('970 aliases exceed this'),
      }),
    ]);
    expect(aliased(MOST_ALIASES, 2).problems).toEqual([]);
  });

  it('counts the paths of each alias', () => {
    const { claims } = aliased(30, 1_000);
    expect([...claims.values()].reduce((sum, { routes }) => sum + routes.length, 0)).toBe(MOST_PATHS);
  });

  it('closes the rest if it restricts access', () => {
    const guard = { 'nginx.ingress.kubernetes.io/allowlist-source-range': '10.0.0.0/8' };
    const { claims } = aliased(40, 1, guard);
    expect(claims.get('h29.example.com')).toMatchObject({ closesHost: false, isLeftOut: false });
    expect(claims.get('h39.example.com')).toMatchObject({ closesHost: true, isLeftOut: true, routes: [] });
  });
});
