import { evaluate } from '@marcbachmann/cel-js';
import { type Ingress, type IngressClass, keyOf, type Secret, type Service } from '@tidegate/kube';
import { describe, expect, it } from 'vitest';
import type { HostClaim, IngressClassPolicy } from '../../api/index.ts';
import { readIngress } from '../../ingress/compile/index.ts';
import { ClaimIndex, ownershipOf } from '../../ingress/ownership/index.ts';
import { ProvisionerRegistry } from '../../ingress/provisioners/index.ts';
import {
  CLASS,
  hostClaim,
  type IngressFields,
  ingress,
  secret,
  service,
} from '../../ingress/testing/objects.ts';
import type { AdmissionRequest, AdmissionResult } from '../review.ts';
import { ingressRule } from './ingress.ts';

const NOW = Date.parse('2026-06-01T00:00:00Z');

const ingressClass = (name: string, controller: string): IngressClass => ({
  apiVersion: 'networking.k8s.io/v1',
  kind: 'IngressClass',
  metadata: { name },
  spec: { controller },
});
const classes = [ingressClass(CLASS, 'tidegate.io/nginx'), ingressClass('other', 'example.com/other')];

interface Cluster {
  claims?: HostClaim[];
  policy?: IngressClassPolicy['spec'];
  /** Classes that share an address with the class. */
  sharedWith?: string[];
  ingresses?: Ingress[];
  services?: Service[];
  secrets?: Secret[];
  knowsSecrets?: boolean;
}

const ruleOf = ({
  ingresses = [],
  services = [service('a')],
  secrets = [],
  knowsSecrets = true,
  ...cluster
}: Cluster = {}) => {
  const claims = new ClaimIndex();
  for (const claim of cluster.claims ?? []) claims.put(ownershipOf(claim));
  // Like an index, so that a look at a host does not read the Ingresses again.
  const read = ingresses.map((each) => ({
    each,
    ofClass: each.spec?.ingressClassName,
    hosts: readIngress(each).claims,
  }));
  return ingressRule(
    {
      claims,
      policyOf: (className) => (className === CLASS ? cluster.policy : undefined),
      classesWith: (className) => [className, ...(cluster.sharedWith ?? [])],
      provisioners: new ProvisionerRegistry(),
      parametersOf: () => undefined,
      classes: { get: (name) => classes.find(({ metadata }) => metadata.name === name), list: () => classes },
      ingressesNaming: (className, host) =>
        read.filter(({ ofClass, hosts }) => ofClass === className && hosts.has(host)).map(({ each }) => each),
      service: (key) => services.find((each) => keyOf(each) === key),
      secret: (key) => secrets.find((each) => keyOf(each) === key),
      knowsSecretsOf: () => knowsSecrets,
    },
    () => NOW,
  );
};

function review(fields: IngressFields, cluster: Cluster = {}, before?: IngressFields): string[] {
  const [object, oldObject] = [ingress(fields), before === undefined ? null : ingress(before)];
  const rule = ruleOf({
    ...cluster,
    ingresses: [...(cluster.ingresses ?? []), ...(oldObject ? [oldObject] : [])],
  });
  const request: AdmissionRequest = {
    uid: 'u',
    kind: { group: rule.group, version: 'v1', kind: 'Ingress' },
    resource: { group: rule.group, version: 'v1', resource: rule.resource },
    name: object.metadata.name ?? '',
    namespace: object.metadata.namespace ?? '',
    operation: oldObject === null ? 'CREATE' : 'UPDATE',
    userInfo: { username: 'ann' },
    object,
    oldObject,
  };
  const { problems = [], warnings = [] } = rule.evaluate(request) as AdmissionResult;
  return [
    ...problems.map(({ path, message }) => `${path}: ${message}`),
    ...warnings.map((text) => `warning: ${text}`),
  ];
}

describe('an Ingress of a class that Tidegate serves', () => {
  const rules = { 'a.example.com/': 'a:http' };

  it('is accepted if it is valid', () => {
    expect(review({ rules })).toEqual([]);
  });

  const conflict =
    'spec.rules[0].host: Host a.example.com belongs to namespace bank since 2025-12-31T23:59:00.000Z. An Ingress of another namespace cannot use it.';

  it('cannot use a host that another namespace has claimed, however old it is', () => {
    const owner = ingress({ namespace: 'bank', name: 'till', rules });
    const claims = [hostClaim('a.example.com', 'bank', { since: 60 })];
    expect(review({ rules, age: 9_999 }, { ingresses: [owner], claims })).toEqual([conflict]);
    const before = { age: 9_999, className: 'other', rules };
    expect(review({ ...before, className: CLASS }, { ingresses: [owner], claims }, before)).toEqual([
      conflict,
    ]);
  });

  it('cannot use a host that an Ingress of another namespace names, whose claim is not recorded yet', () => {
    const owner = ingress({ namespace: 'bank', name: 'till', age: 60, rules });
    expect(review({ rules }, { ingresses: [owner] })).toEqual([conflict]);
  });

  it('can use a host that it has claimed itself, although another namespace names it', () => {
    const other = ingress({ namespace: 'bank', name: 'till', age: 60, rules });
    expect(review({ rules }, { ingresses: [other], claims: [hostClaim('a.example.com', 'shop')] })).toEqual(
      [],
    );
  });

  it('cannot use a host of a class that shares the address', () => {
    const claims = [hostClaim('a.example.com', 'bank', { since: 60, className: 'silver' })];
    expect(review({ rules }, { claims })).toEqual([]);
    expect(review({ rules }, { claims, sharedWith: ['silver'] })).toEqual([conflict]);
  });

  it('cannot use a host below a wildcard of another namespace, unless the class allows it', () => {
    const claims = [hostClaim('*.example.com', 'bank', { since: 60 })];
    const below =
      'is below *.example.com, which belongs to namespace bank since 2025-12-31T23:59:00.000Z. An Ingress of another namespace cannot use it.';
    expect(review({ rules }, { claims })).toEqual([`spec.rules[0].host: Host a.example.com ${below}`]);
    for (const host of ['x.a.example.com', '*.a.example.com'])
      expect(review({ rules: { [`${host}/`]: 'a:http' } }, { claims })).toEqual([
        `spec.rules[0].host: Host ${host} ${below}`,
      ]);
    expect(review({ rules: { 'example.com/': 'a:http' } }, { claims })).toEqual([]);
    expect(review({ rules }, { claims, policy: { hostsBelowWildcards: 'Share' } })).toEqual([]);
    expect(review({ rules }, { claims: [...claims, hostClaim('a.example.com', 'shop')] })).toEqual([]);
  });

  it('must comply with the policy of its class', () => {
    const allow = [{ namespaces: ['bank'] }, { namespaces: ['shop'], hosts: ['*.shop.example.com'] }];
    const policy = { allow };
    expect(review({ namespace: 'bank', rules: { 'a.example.com/': 'a:http' } }, { policy })).toEqual([
      expect.stringContaining('warning: '),
    ]);
    expect(review({ rules: { 'a.shop.example.com/': 'a:http' } }, { policy })).toEqual([]);
    expect(review({ rules }, { policy })).toEqual([
      'spec.rules[0].host: Namespace shop may not use host a.example.com with IngressClass gold: IngressClassPolicy gold allows *.shop.example.com.',
    ]);
    expect(review({ rules: { '/': 'a:http' } }, { policy })).toEqual([
      expect.stringContaining('Namespace shop may not use rules without a host with IngressClass gold'),
    ]);
    expect(review({ namespace: 'evil', rules }, { policy })).toEqual([
      'spec.rules[0].host: Namespace evil may not use IngressClass gold: IngressClassPolicy gold does not allow it. Use another class, or ask an administrator.',
    ]);
  });

  it('cannot use a path of another Ingress, even if it is older itself', () => {
    const owner = ingress({ name: 'first', age: 60, rules });
    const taken =
      'spec.rules[1].http.paths[0].path: Prefix / of a.example.com is already served by Ingress shop/first, which is older.';
    const before = { age: 3600, rules: { 'b.example.com/': 'a:http' } };
    expect(
      review({ age: 3600, rules: { ...before.rules, ...rules } }, { ingresses: [owner] }, before),
    ).toEqual([taken]);
  });

  it('gets a warning for a conflict that was accepted before', () => {
    const owner = ingress({ namespace: 'bank', name: 'till', age: 60, rules });
    const after = { rules: { 'b.example.com/': 'a:http', ...rules } };
    expect(review(after, { ingresses: [owner] }, { rules })).toEqual([
      expect.stringMatching(/^warning: spec.rules\[1\].host: Host a.example.com belongs to namespace bank/),
    ]);
  });

  it('is not checked if neither its spec nor its annotations change', () => {
    const owner = ingress({ namespace: 'bank', name: 'till', age: 60, rules });
    expect(review({ rules }, { ingresses: [owner] }, { rules })).toEqual([]);
  });

  it('is rejected with a list of the supported annotations and values', () => {
    expect(review({ rules, annotations: { 'tidegate.io/balance': 'random' } })).toEqual([
      expect.stringContaining('metadata.annotations[tidegate.io/balance]: Invalid value "random": write '),
    ]);
    expect(review({ rules, annotations: { 'tidegate.io/ballance': 'x', 'example.com/y': 'z' } })).toEqual([
      expect.stringContaining('Unknown annotation tidegate.io/ballance. Supported annotations: '),
    ]);
  });

  it('is rejected with access control of ingress-nginx that Tidegate does not support', () => {
    const annotations = { 'nginx.ingress.kubernetes.io/whitelist-source-range': '10.0.0.0/8' };
    const refused = expect.stringMatching(
      /^metadata\.annotations\[nginx\.ingress\.kubernetes\.io\/whitelist-source-range\]: .* asks for restrictions by the address of the client\. Tidegate does not support it/,
    );
    expect(review({ rules, annotations })).toEqual([refused]);
    expect(review({ rules, annotations: { 'example.com/auth-url': 'http://a' } })).toHaveLength(1);
    // An Ingress that has it already can be changed otherwise, but stays closed.
    const before = { rules: { 'b.example.com/': 'a:http' }, annotations };
    expect(review({ rules, annotations }, {}, before)).toEqual([expect.stringMatching(/^warning: /)]);
    expect(review({ rules }, {}, before)).toEqual([]);
  });

  it('gets a warning for annotations of ingress-nginx that Tidegate ignores', () => {
    const annotations = { 'nginx.ingress.kubernetes.io/rewrite-target': '/', 'example.com/other': 'x' };
    expect(review({ rules, annotations })).toEqual([
      expect.stringMatching(/^warning: metadata\.annotations\[nginx.*\]: Tidegate ignores /),
    ]);
  });

  it('gets a warning for missing Services and ports', () => {
    expect(review({ rules: { 'a.example.com/': 'nope:80' } })).toEqual([
      expect.stringMatching(/^warning: .*shop\/nope/),
    ]);
    expect(review({ rules: { 'a.example.com/': 'a:nope' } })).toEqual([
      expect.stringMatching(/^warning: .*nope/),
    ]);
  });

  it('may be created before its Secret, but not with an invalid certificate', async () => {
    const tls = [{ hosts: ['a.example.com'], secretName: 'cert' }];
    expect(review({ rules, tls })).toEqual(['warning: spec.tls[0].secretName: Secret shop/cert not found.']);
    const broken = secret('cert', { certificate: 'x', key: 'y' });
    expect(review({ rules, tls }, { secrets: [broken] })).toEqual([
      'spec.tls[0].secretName: Secret shop/cert is invalid: tls.crt contains no PEM certificate.',
    ]);
  });
});

describe('an Ingress of another class', () => {
  it.each(['other', 'unknown', ''])('is accepted unchecked: %s', (className) => {
    expect(
      review({ className, annotations: { 'tidegate.io/x': 'y' }, rules: { 'a.example.com/': 'nope:1' } }),
    ).toEqual([]);
  });

  it('does not match the conditions of the webhook', () => {
    const [condition, ...more] = ruleOf().matchConditions?.() ?? [];
    expect(more).toEqual([]);
    const matches = (object: object): unknown => evaluate(`${condition?.expression}`, { object });
    expect(matches(ingress())).toBe(true);
    expect(matches(ingress({ className: 'other' }))).toBe(false);
    expect(matches({ metadata: {}, spec: {} })).toBe(false);
    expect(matches({ metadata: { annotations: { 'kubernetes.io/ingress.class': CLASS } } })).toBe(true);
    expect(matches({ metadata: { annotations: { 'kubernetes.io/ingress.class': 'other' } }, spec: {} })).toBe(
      false,
    );
  });
});

it('is not checked for certificates in a namespace whose Secrets the manager must not read', () => {
  const fields = { rules: { 'a.example/': 'a:80' }, tls: [{ hosts: ['a.example'], secretName: 'mine' }] };
  expect(review(fields)).toEqual([expect.stringContaining('Secret shop/mine')]);
  expect(review(fields, { knowsSecrets: false })).toEqual([]);
});

describe('the cost of a review', () => {
  it('does not grow with the number of hosts that another Ingress shares with it', () => {
    const rules = Object.fromEntries(
      Array.from({ length: 200 }, (_, index) => [`h${index}.example.com/`, 'a:80']),
    );
    let reads = 0;
    const other = ingress({ name: 'other', rules });
    const { spec } = other;
    Object.defineProperty(other, 'spec', {
      get: () => {
        reads++;
        return spec;
      },
    });
    const rule = ruleOf({ ingresses: [other] });
    const object = ingress({ name: 'new', rules });
    rule.evaluate({ name: 'new', namespace: 'shop', operation: 'CREATE', object } as never);
    // The compiler reads the spec a few times. Once per host would be 200 times more.
    expect(reads).toBeLessThan(20);
  });
});
