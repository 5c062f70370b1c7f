import type { Ingress } from '@tidegate/kube';
import { describe, expect, it } from 'vitest';
import { CLASS, ingress, service } from '../testing/objects.ts';
import { Compiler } from './compiler.ts';
import { readIngress } from './ingress-facts.ts';
import { MOST_EXPRESSIONS } from './regex-count.ts';

const PREFIX = 'nginx.ingress.kubernetes.io/';
const REGEX = { [`${PREFIX}use-regex`]: 'true' };
const GUARD = { [`${PREFIX}allowlist-source-range`]: '10.0.0.0/8' };
const many = (count: number, path = (at: number) => `a.io/p${at}/.*`): Record<string, string> =>
  Object.fromEntries(Array.from({ length: count }, (_, at) => [path(at), 'web:80']));

const compiled = (...ingresses: Ingress[]) => {
  const compiler = new Compiler({ classNames: [CLASS], now: () => 0 });
  compiler.put('Service', service('web'));
  for (const each of ingresses) compiler.put('Ingress', each);
  const { delta, outcomes } = compiler.flush();
  const host = (name: string) => delta?.hosts.set.find((each) => each.host === name);
  return {
    paths: (name: string) => host(name)?.routes.map(({ path }) => path) ?? [],
    upstreams: (name: string) => [
      ...new Set(
        [...(host(name)?.routes.map(({ action }) => action) ?? []), host(name)?.fallback].map(
          (action) => action?.backends[0]?.upstream,
        ),
      ),
    ],
    problems: (key: string) =>
      (outcomes.set.find((each) => each.ingress === key)?.problems ?? []).filter(
        ({ reason }) => reason !== 'NoEndpoints',
      ),
  };
};

describe('an Ingress with too many regular expressions', () => {
  it('has the first of them, and one problem', () => {
    const { claims, problems } = readIngress(ingress({ annotations: REGEX, rules: many(4_000) }));
    expect(claims.get('a.io')?.routes).toHaveLength(MOST_EXPRESSIONS);
    expect(problems).toEqual([
      expect.objectContaining({
        reason: 'TooManyPaths',
        field: `spec.rules[${MOST_EXPRESSIONS}].http.paths[0].path`,
        message: expect.stringContaining(
          'An Ingress can have 100 different regular expressions with 8000 steps altogether, and',
        ),
      }),
    ]);
  });

  it('has as many of them as have few steps', () => {
    const rules = many(50, (at) => `a.io/${'.*a'.repeat(65)}${at}`);
    const { claims, problems } = readIngress(ingress({ annotations: REGEX, rules }));
    expect(claims.get('a.io')?.routes.length).toBeLessThan(40);
    expect(problems.map(({ reason }) => reason)).toEqual(['TooManyPaths']);
  });

  it('has as many long paths without special characters as have few characters', () => {
    const rules = many(4_000, (at) => `a.io/${String(at).padStart(389, 'x')}`);
    const { claims, problems } = readIngress(ingress({ annotations: REGEX, rules }));
    const routes = claims.get('a.io')?.routes ?? [];
    const steps = routes.reduce((sum, { value }) => sum + (value.pattern?.code.length ?? 0) / 3, 0);
    expect(steps).toBeGreaterThan(290_000);
    expect(steps).toBeLessThan(310_000);
    expect(problems.map(({ reason }) => reason)).toEqual(['TooManyPaths']);
    expect(problems[0]?.message).toContain('and 300000 characters in paths without special characters');
  });

  it('can have any number of plain paths, and the same expression for many hosts', () => {
    for (const path of [(at: number) => `a.io/file${at}.txt`, (at: number) => `h${at}.io/(.*)`])
      expect(readIngress(ingress({ annotations: REGEX, rules: many(900, path) })).problems).toEqual([]);
  });

  it('closes its hosts if it restricts access', () => {
    const { claims } = readIngress(ingress({ annotations: { ...REGEX, ...GUARD }, rules: many(101) }));
    expect(claims.get('a.io')?.closesHost).toBe(true);
  });
});

describe('a host with too many regular expressions', () => {
  const first = ingress({ name: 'first', age: 9, annotations: REGEX, rules: many(60) });
  const rest = (annotations: Record<string, string>) =>
    ingress({ name: 'rest', age: 1, annotations, rules: many(60, (at) => `a.io/q${at}/.*`) });

  it('has those of its oldest Ingresses', () => {
    const { paths, problems } = compiled(first, rest(REGEX));
    expect(paths('a.io')).toHaveLength(MOST_EXPRESSIONS);
    expect(paths('a.io').filter((path) => path.startsWith('/p'))).toHaveLength(60);
    expect(problems('shop/first')).toEqual([]);
    expect(problems('shop/rest')).toEqual([
      expect.objectContaining({ reason: 'TooManyPaths', field: 'spec.rules[40].http.paths[0].path' }),
    ]);
  });

  it('counts paths that are expressions because of another Ingress', () => {
    const { problems, paths } = compiled(first, rest({}));
    // Such a path becomes two expressions.
    expect(paths('a.io')).toHaveLength(60 + 2 * 40);
    expect(problems('shop/rest').map(({ reason }) => reason)).toContain('TooManyPaths');
  });

  it('is closed if a path beyond the limit restricts access', () => {
    const { upstreams } = compiled(first, rest({ ...REGEX, ...GUARD }));
    expect(upstreams('a.io')).toEqual(['shop__closed']);
    expect(compiled(first).upstreams('a.io')).toEqual(['shop_web_80', undefined]);
  });
});

describe('a regular expression in a rule without a host', () => {
  const own = ingress({ name: 'own', age: 9, rules: { '/': 'web:80', '/pay': 'web:80' } });

  it('is refused, because it could take the paths of other namespaces', () => {
    const other = ingress({
      namespace: 'thief',
      annotations: REGEX,
      rules: { '/(xxxxxxxxx|)': 'web:80', 'b.io/(x|)': 'web:80' },
    });
    const { paths, problems } = compiled(own, other);
    expect(paths('')).toEqual(['/pay', '/']);
    expect(paths('b.io')).toEqual(['/(x|)']);
    expect(problems('thief/web')[0]).toMatchObject({
      reason: 'InvalidPath',
      field: 'spec.rules[0].http.paths[0].path',
      message: expect.stringContaining('add a host to the rule'),
    });
  });

  it('closes what it restricts access to', () => {
    const guard = ingress({
      name: 'guard',
      annotations: { ...REGEX, ...GUARD },
      rules: { '/a.*': 'web:80' },
    });
    expect(compiled(own, guard).upstreams('')).toEqual(['shop__closed', undefined]);
  });
});
