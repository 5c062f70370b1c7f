/** An Ingress that was stored with more hosts than admission accepts. */
import type { Ingress } from '@tidegate/kube';
import { describe, expect, it } from 'vitest';
import { ingress } from '../testing/objects.ts';
import { Compiler } from './compiler.ts';
import { readIngress } from './ingress-facts.ts';

const MOST = 1_000;
const AUTH = { 'nginx.ingress.kubernetes.io/auth-url': 'http://a' };
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
