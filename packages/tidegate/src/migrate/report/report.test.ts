import { describe, expect, it } from 'vitest';
import { HONORED, IGNORED, REFUSED } from '../../ingress/nginx-annotations/index.ts';
import { configKeyVerdict } from '../../ingress/nginx-config/index.ts';
import { ingressOf } from '../testing/ingresses.ts';
import { type MigrationObjects, migrationReport } from './report.ts';
import { reportHtml } from './report-html.ts';
import { reportText } from './report-text.ts';

const reportOf = (objects: Partial<MigrationObjects>) =>
  migrationReport({ ingresses: [], classes: [], configMaps: [], ...objects }, {}, 0);

describe('the report', () => {
  it('has a verdict for every annotation of the tables', () => {
    const [ignored] = IGNORED.keys();
    for (const [names, verdict] of [
      [[...REFUSED.keys()], 'refused'],
      [[ignored!], 'changed'],
    ] as const)
      for (const name of names) {
        const ingress = ingressOf({ paths: ['/'], annotations: { [name]: 'x' } });
        expect(reportOf({ ingresses: [ingress] }).ingresses[0]).toMatchObject({
          verdict,
          annotations: [{ name, verdict }],
        });
      }
    const text = HONORED.get('proxy-body-size')?.does;
    const ingress = ingressOf({ paths: ['/'], annotations: { 'proxy-body-size': '8m' } });
    expect(reportOf({ ingresses: [ingress] }).ingresses[0]).toMatchObject({
      verdict: 'honored',
      annotations: [{ name: 'proxy-body-size', value: '8m', verdict: 'honored', text }],
    });
  });

  it('refuses an annotation with a value that is not valid', () => {
    const ingress = ingressOf({ paths: ['/'], annotations: { 'whitelist-source-range': 'all' } });
    expect(reportOf({ ingresses: [ingress] }).ingresses[0]).toMatchObject({
      verdict: 'refused',
      annotations: [{ verdict: 'refused', text: expect.stringContaining('"all"') }],
    });
  });

  it('reads only the classes of ingress-nginx', () => {
    const classOf = (name: string, controller: string) => ({
      apiVersion: 'networking.k8s.io/v1',
      kind: 'IngressClass',
      metadata: { name },
      spec: { controller },
    });
    const ingresses = [
      ingressOf({ paths: ['/'], className: 'nginx' }),
      ingressOf({ paths: ['/'], className: 'public' }),
      ingressOf({ paths: ['/'], className: 'gold' }),
      ingressOf({ paths: ['/'], className: '', name: 'none' }),
    ];
    const classes = [classOf('public', 'k8s.io/ingress-nginx'), classOf('gold', 'tidegate.io/nginx')];
    const report = reportOf({ ingresses, classes });
    expect(report.counts).toMatchObject({ ingresses: 2, otherClasses: { gold: 1 } });
    expect(report.withoutClass).toEqual(['default/none']);
  });

  it('names the Ingress that makes regular expressions of the paths of others', () => {
    const cause = ingressOf({ name: 'cause', paths: ['/x'], annotations: { 'use-regex': 'true' } });
    const other = ingressOf({ name: 'other', paths: [['/Cart', 'Exact']] });
    const [host] = reportOf({ ingresses: [cause, other] }).hosts;
    expect(host?.rules[0]).toMatchObject({
      rule: 'regexHost',
      cause: 'default/cause',
      ingresses: ['default/other', 'default/cause'],
      paths: expect.arrayContaining(['/Cart (default/other)']),
      differences: 0,
    });
  });

  it('names the Ingress whose settings apply to others of the host', () => {
    const first = ingressOf({
      name: 'first',
      paths: ['/'],
      annotations: { 'server-alias': 'b.example.com' },
    });
    const second = ingressOf({ name: 'second', paths: ['/x'] });
    const [host] = reportOf({ ingresses: [first, second] }).hosts;
    expect(host?.rules[0]).toMatchObject({ rule: 'oldestWins', cause: 'default/first' });
  });

  it('has an example for each rule that changes an answer', () => {
    const ingress = ingressOf({ name: 'docs', paths: [['/guides/', 'Exact']] });
    const text = reportText(reportOf({ ingresses: [ingress] }), false);
    expect(text).toContain('CHANGED default/docs');
    expect(text).toContain('http://a.example.com/guides: redirect 301 -> status 404');
  });

  it('is a page without scripts, and with escaped texts', () => {
    const path = '/<script>alert(1)</script>';
    const annotations = { 'no-such"><img src=x onerror=alert(1)>': '<b>' };
    const html = reportHtml(reportOf({ ingresses: [ingressOf({ paths: [path], annotations })] }), 'today');
    expect(html).not.toMatch(/<script|<img|<b>|<[^>]*(?:src|href)=/i);
    expect(html).toContain("default-src 'none'");
    expect(html).toContain('&lt;b&gt;');
  });
});

describe('keys of the ConfigMap', () => {
  it('are refused if they protect something', () => {
    const verdictOf = (key: string, value: string, more: Record<string, string> = {}) =>
      configKeyVerdict(key, { [key]: value, ...more }).verdict;
    expect(verdictOf('block-cidrs', '192.0.2.0/24')).toBe('refused');
    expect(verdictOf('block-cidrs', '')).toBe('honored');
    expect(verdictOf('use-forwarded-headers', 'true')).toBe('refused');
    expect(verdictOf('use-forwarded-headers', 'true', { 'proxy-real-ip-cidr': '10.0.0.0/8' })).toBe(
      'honored',
    );
    expect(verdictOf('use-forwarded-headers', 'false')).toBe('honored');
    expect(verdictOf('proxy-body-size', 'large')).toBe('refused');
    expect(verdictOf('no-such-key', 'x')).toBe('changed');
  });

  it('change what ingress-nginx answers', () => {
    const configMap = {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'ingress-nginx-controller', namespace: 'ingress-nginx' },
      data: { 'ssl-redirect': 'false' },
    };
    const ingresses = [ingressOf({ paths: ['/'], tls: true })];
    const rules = (configMaps: (typeof configMap)[]) =>
      reportOf({ ingresses, configMaps }).hosts.flatMap((host) => host.rules.map(({ rule }) => rule));
    expect(rules([])).toContain('sslRedirect');
    expect(rules([configMap])).not.toContain('sslRedirect');
  });
});
