import type { Ingress } from '@tidegate/kube';
import { describe, expect, it } from 'vitest';
import { ingressOf } from '../testing/ingresses.ts';
import { type Answer, answerText } from './answer.ts';
import { ruleBehind } from './explain.ts';
import { nginxAnswer } from './nginx-answer.ts';
import { normalizedPath } from './nginx-path.ts';
import { nginxServers } from './nginx-servers.ts';
import { TidegateSide } from './tidegate-side.ts';

/** Short texts: the backend, or the status. */
const shortOf = (answer: Answer): string =>
  answer.kind === 'backend' ? answer.backend.replace(/^default\/|:80$/g, '') : `${answer.status}`;

function compare(ingresses: Ingress[], url: string) {
  const { protocol, host } = new URL(url);
  const target = url.slice(`${protocol}//${host}`.length);
  const request = { secure: protocol === 'https:', host, target };
  const old = nginxAnswer(nginxServers(ingresses), { sslRedirect: true }, request);
  const tidegate = new TidegateSide({ controller: '', classNames: ['nginx'], ingresses }, 0);
  const now = tidegate.answer(request);
  return [shortOf(old.answer), shortOf(now), ruleBehind(request, old, now, tidegate)];
}

describe('the path that nginx compares', () => {
  it.each([
    ['/a/b?x=/../', '/a/b'],
    ['//a///b//', '/a/b/'],
    ['/a/./b/../c', '/a/c'],
    ['/a/..', '/'],
    ['/%61%2Fb', '/a/b'],
    ['/a/%2e%2e/b', '/b'],
    ['/..', undefined],
    ['/%0', undefined],
    ['/%00', undefined],
  ])('%s is %s', (target, expected) => {
    expect(normalizedPath(target)).toBe(expected);
  });
});

describe('both controllers', () => {
  it('give the same answer to the path of a rule', () => {
    expect(compare([ingressOf({ paths: ['/api'] })], 'http://a.example.com/api/x').slice(0, 2)).toEqual([
      's-api',
      's-api',
    ]);
  });

  it('ask for client certificates over HTTPS, on all paths of the host', () => {
    const all = [
      ingressOf({ paths: ['/a'], annotations: { 'auth-tls-secret': 'default/ca' } }),
      ingressOf({ paths: ['/b'] }),
    ];
    for (const path of ['/a', '/b'])
      expect(compare(all, `https://a.example.com${path}`).slice(0, 2)).toEqual(['400', '400']);
    expect(compare(all, 'http://a.example.com/a')).toEqual(['s-a', '403', 'plainCertificates']);
    const optional = { 'auth-tls-secret': 'default/ca', 'auth-tls-verify-client': 'optional' };
    const open = [ingressOf({ paths: ['/a'], annotations: optional })];
    expect(compare(open, 'https://a.example.com/a').slice(0, 2)).toEqual(['s-a', 's-a']);
    const page = { 'auth-tls-secret': 'default/ca', 'auth-tls-error-page': 'https://help.example.com/' };
    const redirected = [ingressOf({ paths: ['/a'], annotations: page })];
    expect(compare(redirected, 'https://a.example.com/a').slice(0, 2)).toEqual(['302', '302']);
  });

  it('read ImplementationSpecific as Prefix', () => {
    const ingress = ingressOf({ paths: [['/v1', 'ImplementationSpecific']] });
    for (const [path, answer] of [
      ['/v1/x', 's-v1'],
      ['/v12', '404'],
    ])
      expect(compare([ingress], `http://a.example.com${path}`).slice(0, 2)).toEqual([answer, answer]);
  });

  it('make regular expressions of all paths of a host', () => {
    const rewritten = ingressOf({
      name: 'rewritten',
      paths: [['/api(/|$)(.*)', 'ImplementationSpecific']],
      annotations: { 'rewrite-target': '/$2' },
    });
    const plain = ingressOf({ name: 'plain', paths: [['/Cart', 'Exact']] });
    for (const path of ['/cart', '/CART/x', '/cartoon'])
      expect(compare([rewritten, plain], `http://a.example.com${path}`).slice(0, 2)).toEqual([
        's-cart',
        's-cart',
      ]);
  });

  it.each([
    ['a missing slash of an Exact path', ['/a/', 'Exact'], '/a', '301', '404', 'trailingSlash'],
    ['a missing slash of a Prefix', ['/a/', 'Prefix'], '/a', '301', 's-a', 'trailingSlash'],
    ['dot segments', ['/a', 'Prefix'], '/x/../a', 's-a', '400', 'normalization'],
    ['empty segments', ['/a', 'Prefix'], '//a', 's-a', '404', 'normalization'],
    ['encoded letters', ['/a', 'Exact'], '/%61', 's-a', '404', 'normalization'],
  ] as const)('differ in %s', (_, path, target, old, now, rule) => {
    const ingress = ingressOf({ paths: [[path[0], path[1]]] });
    expect(compare([ingress], `http://a.example.com${target}`)).toEqual([old, now, rule]);
  });

  it('differ in redirects to HTTPS that no annotation asks for', () => {
    const ingress = ingressOf({ paths: ['/'], tls: true });
    expect(compare([ingress], 'http://a.example.com/')).toEqual(['308', 's', 'sslRedirect']);
    expect(compare([ingress], 'https://a.example.com/').slice(0, 2)).toEqual(['s', 's']);
    const asked = ingressOf({ paths: ['/'], tls: true, annotations: { 'ssl-redirect': 'true' } });
    expect(compare([asked], 'http://a.example.com/').slice(0, 2)).toEqual(['308', '308']);
    const off = ingressOf({ paths: ['/'], tls: true, annotations: { 'ssl-redirect': 'false' } });
    expect(compare([off], 'http://a.example.com/').slice(0, 2)).toEqual(['s', 's']);
  });

  it('differ in annotations for paths that no rule has', () => {
    const moved = ingressOf({
      paths: ['/old'],
      annotations: { 'permanent-redirect': 'https://b.example.com' },
    });
    expect(compare([moved], 'http://a.example.com/other')).toEqual(['301', '404', 'inheritedRoot']);
    expect(compare([moved], 'http://a.example.com/old').slice(0, 2)).toEqual(['301', '301']);
  });

  it('differ in hosts of several namespaces', () => {
    const first = ingressOf({ paths: ['/'], namespace: 'one' });
    const second = ingressOf({ paths: ['/two'], namespace: 'two' });
    const [old, now, rule] = compare([first, second], 'http://a.example.com/two');
    expect([old, now, rule]).toEqual(['two/s-two', 'one/s', 'hostOwner']);
  });

  it('differ in refused annotations', () => {
    const ingress = ingressOf({ paths: ['/'], annotations: { 'server-snippet': 'deny all;' } });
    expect(compare([ingress], 'http://a.example.com/')).toEqual(['s', '503', 'refused']);
  });

  it('leave canaries to the Ingress that they belong to', () => {
    const main = ingressOf({ paths: ['/'] });
    const canary = ingressOf({ paths: ['/'], annotations: { canary: 'true', 'canary-weight': '10' } });
    expect(compare([canary, main], 'http://a.example.com/').slice(0, 2)).toEqual(['s', 's']);
  });
});

it('names the backend and the path in texts', () => {
  expect(answerText({ kind: 'backend', backend: 'a/b:80', ingress: 'a/i', path: '/x' })).toBe(
    'Service a/b:80 (path /x of Ingress a/i)',
  );
});
