import { evaluate } from '@marcbachmann/cel-js';
import { INGRESSES, type Ingress, type IngressClass, keyOf, type Secret, type Service } from '@tidegate/kube';
import { describe, expect, it } from 'vitest';
import type { HostClaim, IngressClassPolicy } from '../../api/index.ts';
import { readIngress } from '../../ingress/compile/index.ts';
import { ClaimIndex, ownershipOf } from '../../ingress/ownership/index.ts';
import { BUILT_IN, type ProvisionerProfile, ProvisionerRegistry } from '../../ingress/provisioners/index.ts';
import {
  CLASS,
  classWithHeaders,
  hostClaim,
  type IngressFields,
  ingress,
  secret,
  service,
} from '../../ingress/testing/objects.ts';
import type { AdmissionRequest } from '../review.ts';
import { ingressRule } from './ingress.ts';

const NOW = Date.parse('2026-06-01T00:00:00Z');

const ingressClass = (name: string, controller: string): IngressClass => ({
  apiVersion: 'networking.k8s.io/v1',
  kind: 'IngressClass',
  metadata: { name },
  spec: { controller },
});
const classes = [
  ingressClass(CLASS, 'tidegate.io/nginx'),
  ingressClass('other', 'example.com/other'),
  classWithHeaders('X-Frame-Options', 'headers'),
];

interface Cluster {
  claims?: HostClaim[];
  policy?: IngressClassPolicy['spec'];
  /** Classes that share an address with the class. */
  sharedWith?: string[];
  ingresses?: Ingress[];
  services?: Service[];
  secrets?: Secret[];
  knowsSecrets?: boolean;
  /** Provisioners in place of the built-in ones. */
  provisioners?: ProvisionerProfile[];
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
      provisioners: new ProvisionerRegistry(cluster.provisioners),
      parametersOf: () => undefined,
      classes: { get: (name) => classes.find(({ metadata }) => metadata.name === name), list: () => classes },
      ingressesNaming: (className, host) =>
        read.filter(({ ofClass, hosts }) => ofClass === className && hosts.has(host)).map(({ each }) => each),
      service: (key) => services.find((each) => keyOf(each) === key),
      secret: (key) => secrets.find((each) => keyOf(each) === key),
      routePoliciesOf: () => [],
      clusterRoutePolicies: () => [],
      knowsSecretsOf: () => knowsSecrets,
    },
    () => NOW,
  );
};

const requestFor = (object: Ingress, oldObject: Ingress | null = null): AdmissionRequest => ({
  uid: 'u',
  kind: { group: INGRESSES.group, version: 'v1', kind: 'Ingress' },
  resource: { group: INGRESSES.group, version: 'v1', resource: INGRESSES.resource },
  name: object.metadata.name ?? '',
  namespace: object.metadata.namespace ?? '',
  operation: oldObject === null ? 'CREATE' : 'UPDATE',
  userInfo: { username: 'ann' },
  object,
  oldObject,
});

async function review(
  fields: IngressFields,
  cluster: Cluster = {},
  before?: IngressFields,
): Promise<string[]> {
  const [object, oldObject] = [ingress(fields), before === undefined ? null : ingress(before)];
  const rule = ruleOf({
    ...cluster,
    ingresses: [...(cluster.ingresses ?? []), ...(oldObject ? [oldObject] : [])],
  });
  const { problems = [], warnings = [] } = await rule.evaluate(requestFor(object, oldObject));
  return [
    ...problems.map(({ path, message }) => `${path}: ${message}`),
    ...warnings.map((text) => `warning: ${text}`),
  ];
}

describe('annotations of ingress-nginx', () => {
  const rules = { 'a.example.com/': 'a:http' };
  const PREFIX = 'nginx.ingress.kubernetes.io/';

  it('are accepted if the class allows headers, and rejected with what to do if it does not', async () => {
    const annotations = { [`${PREFIX}custom-headers`]: 'headers' };
    expect(await review({ rules, annotations, className: 'headers' })).toEqual([]);
    expect(await review({ rules, annotations })).toEqual([
      expect.stringMatching(/^metadata\.annotations\[.*custom-headers]: .*allowed-response-headers.* 503\.$/),
    ]);
  });

  it('with directives are rejected with their typed form', async () => {
    const annotations = { [`${PREFIX}configuration-snippet`]: 'more_set_headers "X-Frame-Options: DENY";' };
    expect(await review({ rules, annotations })).toEqual([
      expect.stringContaining(
        'write custom-headers with the name of a ConfigMap that has "X-Frame-Options": "DENY".',
      ),
    ]);
  });
});

describe('the cost of a review', () => {
  const REGEX = { 'nginx.ingress.kubernetes.io/use-regex': 'true' };
  const many = (count: number, host = 'a.example.com') =>
    Object.fromEntries(Array.from({ length: count }, (_, at) => [`${host}/p${at}/.*`, 'a:http']));
  /** Counts how often the paths of the Ingress are read. */
  const counted = (object: Ingress): { readonly reads: number } => {
    const count = { reads: 0 };
    for (const path of (object.spec?.rules ?? []).flatMap(({ http }) => http?.paths ?? [])) {
      const { backend } = path;
      Object.defineProperty(path, 'backend', {
        enumerable: true,
        get: () => {
          count.reads++;
          return backend;
        },
      });
    }
    return count;
  };

  it('is that of one reading of each version', async () => {
    const [object, old] = [50, 40].map((count) => ingress({ annotations: REGEX, rules: many(count) }));
    const [now, before] = [counted(object!), counted(old!)];
    const rule = ruleOf();
    await rule.evaluate(requestFor(object!));
    expect(now.reads).toBe(50);
    // What the API server stores has no getters.
    await rule.evaluate(requestFor(ingress({ annotations: REGEX, rules: many(50) }), old!));
    expect(before.reads).toBe(40);
  });

  it('does not delay other reviews: there is a turn for every hundred paths of other Ingresses', async () => {
    const ingresses = Array.from({ length: 40 }, (_, at) =>
      ingress({ name: `other-${at}`, annotations: REGEX, rules: many(50) }),
    );
    let turns = 0;
    const turn = async (): Promise<void> => void turns++;
    await ruleOf({ ingresses }).evaluate(requestFor(ingress({ name: 'new', rules: many(1) })), turn);
    expect(turns).toBeGreaterThanOrEqual(40);
  });
});

describe('an Ingress of a class that Tidegate serves', () => {
  const rules = { 'a.example.com/': 'a:http' };

  it('is accepted if it is valid', async () => {
    expect(await review({ rules })).toEqual([]);
  });

  const conflict =
    'spec.rules[0].host: Host a.example.com belongs to namespace bank since 2025-12-31T23:59:00.000Z. An Ingress of another namespace cannot use it.';

  it('cannot use a host that another namespace has claimed, however old it is', async () => {
    const owner = ingress({ namespace: 'bank', name: 'till', rules });
    const claims = [hostClaim('a.example.com', 'bank', { since: 60 })];
    expect(await review({ rules, age: 9_999 }, { ingresses: [owner], claims })).toEqual([conflict]);
    const before = { age: 9_999, className: 'other', rules };
    expect(await review({ ...before, className: CLASS }, { ingresses: [owner], claims }, before)).toEqual([
      conflict,
    ]);
  });

  it('cannot take such a host while it is being deleted, but can lose its finalizers', async () => {
    const leaving = (host: string): Ingress => {
      const object = ingress({ rules: { [`${host}/`]: 'a:http' } });
      return { ...object, metadata: { ...object.metadata, deletionTimestamp: '2026-05-31T00:00:00Z' } };
    };
    const rule = ruleOf({ claims: [hostClaim('a.example.com', 'bank', { since: 60 })] });
    const taken = leaving('a.example.com');
    const { problems } = await rule.evaluate(requestFor(taken, leaving('b.example.com')));
    expect(problems?.map(({ path, message }) => `${path}: ${message}`)).toEqual([conflict]);
    const released = { ...taken, metadata: { ...taken.metadata, finalizers: [] } };
    expect(await rule.evaluate(requestFor(released, taken))).toEqual({});
  });

  it('cannot use a host that an Ingress of another namespace names, whose claim is not recorded yet', async () => {
    const owner = ingress({ namespace: 'bank', name: 'till', age: 60, rules });
    expect(await review({ rules }, { ingresses: [owner] })).toEqual([conflict]);
  });

  it('can use a host that it has claimed itself, although another namespace names it', async () => {
    const other = ingress({ namespace: 'bank', name: 'till', age: 60, rules });
    expect(
      await review({ rules }, { ingresses: [other], claims: [hostClaim('a.example.com', 'shop')] }),
    ).toEqual([]);
  });

  it('cannot use a host that is reserved for another namespace, but its namespace can', async () => {
    const { spec, ...claim } = hostClaim('a.example.com', 'bank');
    const claims = [{ ...claim, spec: { ...spec, reservedUntil: '2026-06-02T00:00:00.000Z' } }];
    expect(await review({ rules }, { claims })).toEqual([
      `spec.rules[0].host: Host a.example.com is reserved for namespace bank until 2026-06-02T00:00:00.000Z, because it belonged to this namespace. To end that, an administrator can delete HostClaim ${claim.metadata.name}.`,
    ]);
    const services = [service('a', undefined, 'bank')];
    expect(await review({ rules, namespace: 'bank' }, { claims, services })).toEqual([]);
  });

  it('cannot use a wildcard above a public suffix, unless the class allows it', async () => {
    const wild = { rules: { '*.co.uk/': 'a:http' } };
    expect(await review(wild)).toEqual([expect.stringContaining('co.uk is a public suffix')]);
    expect(await review(wild, { policy: { publicSuffixWildcards: 'Allow' } })).toEqual([]);
  });

  it('cannot use a host of a class that shares the address', async () => {
    const claims = [hostClaim('a.example.com', 'bank', { since: 60, className: 'silver' })];
    expect(await review({ rules }, { claims })).toEqual([]);
    expect(await review({ rules }, { claims, sharedWith: ['silver'] })).toEqual([conflict]);
  });

  it('cannot use a host below a wildcard of another namespace, unless the class allows it', async () => {
    const claims = [hostClaim('*.example.com', 'bank', { since: 60 })];
    const below =
      'is below *.example.com, which belongs to namespace bank since 2025-12-31T23:59:00.000Z. An Ingress of another namespace cannot use it.';
    expect(await review({ rules }, { claims })).toEqual([`spec.rules[0].host: Host a.example.com ${below}`]);
    for (const host of ['x.a.example.com', '*.a.example.com'])
      expect(await review({ rules: { [`${host}/`]: 'a:http' } }, { claims })).toEqual([
        `spec.rules[0].host: Host ${host} ${below}`,
      ]);
    expect(await review({ rules: { 'example.com/': 'a:http' } }, { claims })).toEqual([]);
    expect(await review({ rules }, { claims, policy: { hostsBelowWildcards: 'Share' } })).toEqual([]);
    expect(await review({ rules }, { claims: [...claims, hostClaim('a.example.com', 'shop')] })).toEqual([]);
  });

  it('must comply with the policy of its class', async () => {
    const allow = [{ namespaces: ['bank'] }, { namespaces: ['shop'], hosts: ['*.shop.example.com'] }];
    const policy = { allow };
    expect(await review({ namespace: 'bank', rules: { 'a.example.com/': 'a:http' } }, { policy })).toEqual([
      expect.stringContaining('warning: '),
    ]);
    expect(await review({ rules: { 'a.shop.example.com/': 'a:http' } }, { policy })).toEqual([]);
    expect(await review({ rules }, { policy })).toEqual([
      'spec.rules[0].host: Namespace shop may not use host a.example.com with IngressClass gold: IngressClassPolicy gold allows *.shop.example.com.',
    ]);
    expect(await review({ rules: { '/': 'a:http' } }, { policy })).toEqual([
      expect.stringContaining('Namespace shop may not use rules without a host with IngressClass gold'),
    ]);
    expect(await review({ namespace: 'evil', rules }, { policy })).toEqual([
      'spec.rules[0].host: Namespace evil may not use IngressClass gold: IngressClassPolicy gold does not allow it. Use another class, or ask an administrator.',
    ]);
  });

  it('cannot use a path of another Ingress, even if it is older itself', async () => {
    const owner = ingress({ name: 'first', age: 60, rules });
    const taken =
      'spec.rules[1].http.paths[0].path: Prefix / of a.example.com is already served by Ingress shop/first, which is older.';
    const before = { age: 3600, rules: { 'b.example.com/': 'a:http' } };
    expect(
      await review({ age: 3600, rules: { ...before.rules, ...rules } }, { ingresses: [owner] }, before),
    ).toEqual([taken]);
  });

  it('gets a warning for a conflict that was accepted before', async () => {
    const owner = ingress({ namespace: 'bank', name: 'till', age: 60, rules });
    const after = { rules: { 'b.example.com/': 'a:http', ...rules } };
    expect(await review(after, { ingresses: [owner] }, { rules })).toEqual([
      expect.stringMatching(/^warning: spec.rules\[1\].host: Host a.example.com belongs to namespace bank/),
    ]);
  });

  it('is not checked if neither its spec nor its annotations change', async () => {
    const owner = ingress({ namespace: 'bank', name: 'till', age: 60, rules });
    expect(await review({ rules }, { ingresses: [owner] }, { rules })).toEqual([]);
  });

  it('is rejected with a list of the supported annotations and values', async () => {
    expect(await review({ rules, annotations: { 'tidegate.io/balance': 'random' } })).toEqual([
      expect.stringContaining('metadata.annotations[tidegate.io/balance]: Invalid value "random": write '),
    ]);
    expect(
      await review({ rules, annotations: { 'tidegate.io/ballance': 'x', 'example.com/y': 'z' } }),
    ).toEqual([expect.stringContaining('Unknown annotation tidegate.io/ballance. Supported annotations: ')]);
  });

  it('is rejected with access control of ingress-nginx that Tidegate does not support', async () => {
    const annotations = { 'nginx.ingress.kubernetes.io/auth-snippet': 'http://a' };
    const refused = expect.stringMatching(
      /^metadata\.annotations\[nginx\.ingress\.kubernetes\.io\/auth-snippet\]: .* asks for directives of nginx for the server that authenticates clients\. Tidegate does not support it/,
    );
    expect(await review({ rules, annotations })).toEqual([refused]);
    expect(await review({ rules, annotations: { 'example.com/auth-snippet': 'http://a' } })).toHaveLength(1);
    // An Ingress that has it already can be changed otherwise, but stays closed.
    const before = { rules: { 'b.example.com/': 'a:http' }, annotations };
    expect(await review({ rules, annotations }, {}, before)).toEqual([expect.stringMatching(/^warning: /)]);
    expect(await review({ rules }, {}, before)).toEqual([]);
  });

  it('gets a warning for annotations of ingress-nginx that Tidegate ignores', async () => {
    const annotations = {
      'nginx.ingress.kubernetes.io/fastcgi-index': 'index.php',
      'example.com/other': 'x',
    };
    expect(await review({ rules, annotations })).toEqual([
      expect.stringMatching(/^warning: metadata\.annotations\[nginx.*\]: Tidegate ignores /),
    ]);
  });

  it('is rejected with more than 1000 hosts', async () => {
    const many = (count: number) =>
      Object.fromEntries(Array.from({ length: count }, (_, i) => [`h${i}.example.com/`, 'a:http']));
    expect(await review({ rules: many(1_000) })).toEqual([]);
    expect(await review({ rules: many(1_002) })).toEqual([
      'spec: the Ingress has 1002 hosts, the limit is 1000: split it into several Ingresses',
    ]);
  });

  it('is rejected with a path that is too long', async () => {
    expect(await review({ rules: { [`a.example.com${'/'.repeat(500_000)}x`]: 'a:http' } })).toEqual([
      expect.stringMatching(
        /^spec\.rules\[0\]\.http\.paths\[0\]\.path: .* has 500001 characters, the limit is 4096/,
      ),
    ]);
  });

  it('is rejected if its namespace has too many paths of the host', async () => {
    const stored = ingress({ name: 'stored', age: 60, rules: { 'a.example.com/s': 'a:http' } });
    const [rule] = stored.spec?.rules ?? [];
    const [path] = rule?.http?.paths ?? [];
    const paths = Array.from({ length: 4_998 }, (_, at) => ({ ...path!, path: `/s${at}` }));
    const full = { ...stored, spec: { ...stored.spec, rules: [{ ...rule, http: { paths } }] } };
    const wanted = { 'a.example.com/1': 'a:http', 'a.example.com/2': 'a:http' };
    expect(await review({ rules: wanted }, { ingresses: [full] })).toEqual([]);
    expect(
      await review({ rules: { ...wanted, 'a.example.com/3': 'a:http' } }, { ingresses: [full] }),
    ).toEqual([
      expect.stringContaining('The Ingresses of a namespace can have 5000 paths of host a.example.com'),
    ]);
  });

  it('is rejected with a protocol of the backend that Tidegate does not support', async () => {
    const annotations = { 'nginx.ingress.kubernetes.io/backend-protocol': 'FCGI' };
    expect(await review({ rules, annotations })).toEqual([
      'metadata.annotations[nginx.ingress.kubernetes.io/backend-protocol]: Invalid value "FCGI": write one of http, https, grpc, grpcs. Requests to the backends of the Ingress get the response 503.',
    ]);
  });

  it('is rejected with regular expressions that do not take linear time', async () => {
    const annotations = { 'nginx.ingress.kubernetes.io/use-regex': 'true' };
    expect(await review({ rules: { 'a.example.com/(a|b)': 'a:http' }, annotations })).toEqual([]);
    expect(await review({ rules: { 'a.example.com/(a|b)\\1': 'a:http' }, annotations })).toEqual([
      expect.stringMatching(
        /^spec\.rules\[0\].* has a back-reference, which is not supported at character 7\./,
      ),
    ]);
  });

  it.each([
    [
      'whitelist-source-range',
      '10.0.0.0/33',
      /Invalid value "10.0.0.0\/33": write comma-separated .* hosts .* 503/,
    ],
    ['denylist-source-range', '', /Invalid value "": write comma-separated/],
    ['permanent-redirect', 'javascript:alert(1)', /write a URL with http or https, or a path.* paths .* 503/],
    ['temporal-redirect-code', '200', /write one of 302, 301, 303, 307, 308/],
    ['affinity', 'cooky', /"cooky": write cookie\./],
    ['rewrite-target', '/$0', /write a path that starts with a slash, with \$1 to \$9/],
    ['use-regex', 'maybe', /write true or false/],
    ['app-root', '//evil.io', /write a path that starts with one slash/],
  ])('is rejected with %s: %j', async (name, value, message) => {
    const annotations = { [`nginx.ingress.kubernetes.io/${name}`]: value };
    expect(await review({ rules: { 'a.example.com/': 'a:http' }, annotations })).toEqual([
      expect.stringMatching(message),
    ]);
  });

  it('gets a warning for what the provisioner of its class cannot do', async () => {
    const [nginx] = BUILT_IN;
    const provisioners = [{ ...nginx!, capabilities: new Set(['tls', 'redirects'] as const) }];
    const annotations = {
      'nginx.ingress.kubernetes.io/whitelist-source-range': '10.0.0.0/8',
      'nginx.ingress.kubernetes.io/permanent-redirect': 'https://a.example.com',
    };
    expect(await review({ rules, annotations })).toEqual([]);
    expect(await review({ rules, annotations }, { provisioners })).toEqual([
      expect.stringMatching(
        /^warning: spec: The provisioner tidegate\.io\/nginx does not support allow and deny lists of client addresses\. Nothing of host /,
      ),
    ]);
  });

  it('gets a warning for missing Services and ports', async () => {
    expect(await review({ rules: { 'a.example.com/': 'nope:80' } })).toEqual([
      expect.stringMatching(/^warning: .*shop\/nope/),
    ]);
    expect(await review({ rules: { 'a.example.com/': 'a:nope' } })).toEqual([
      expect.stringMatching(/^warning: .*nope/),
    ]);
  });

  it('may be created before its Secret, but not with an invalid certificate', async () => {
    const tls = [{ hosts: ['a.example.com'], secretName: 'cert' }];
    expect(await review({ rules, tls })).toEqual([
      'warning: spec.tls[0].secretName: Secret shop/cert not found.',
    ]);
    const broken = secret('cert', { certificate: 'x', key: 'y' });
    expect(await review({ rules, tls }, { secrets: [broken] })).toEqual([
      'spec.tls[0].secretName: Secret shop/cert is invalid: tls.crt contains no PEM certificate.',
    ]);
  });
});

describe('an Ingress of another class', () => {
  it.each(['other', 'unknown', ''])('is accepted unchecked: %s', async (className) => {
    expect(
      await review({
        className,
        annotations: { 'tidegate.io/x': 'y' },
        rules: { 'a.example.com/': 'nope:1' },
      }),
    ).toEqual([]);
  });

  it('does not match the conditions of the webhook', async () => {
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

it('is not checked for certificates in a namespace whose Secrets the manager must not read', async () => {
  const fields = { rules: { 'a.example/': 'a:80' }, tls: [{ hosts: ['a.example'], secretName: 'mine' }] };
  expect(await review(fields)).toEqual([expect.stringContaining('Secret shop/mine')]);
  expect(await review(fields, { knowsSecrets: false })).toEqual([]);
});

describe('an Ingress that is expensive to check', () => {
  const hosts = (count: number, more = ''): string[] =>
    Array.from({ length: count }, (_, index) => `h${index}${more}.example.com`);
  const rulesFor = (count: number): IngressFields['rules'] =>
    Object.fromEntries(hosts(count).map((host) => [`${host}/`, 'a:http']));
  const tls = (of: string[]): IngressFields['tls'] => [{ hosts: of, secretName: 'cert' }];
  const tooMany = (count: number): string =>
    `spec: the Ingress has ${count} hosts, the limit is 1000: split it into several Ingresses`;
  const known = { knowsSecrets: false };

  it('is rejected before it is read, if it has too many hosts or paths', async () => {
    expect(await review({ rules: rulesFor(1_000) })).toEqual([]);
    expect(await review({ rules: rulesFor(1_001) })).toEqual([tooMany(1_001)]);
    expect(await review({ tls: tls(hosts(20_000)) }, known)).toEqual([
      'spec: the Ingress has 20001 rules, paths and entries in tls, the limit is 5000: split it into several Ingresses',
    ]);
    const paths = Array.from({ length: 2_501 }, (_, index) => [`a.example.com/${index}`, 'a:http']);
    expect(await review({ rules: Object.fromEntries(paths) })).toEqual([
      'spec: the Ingress has 5002 rules, paths and entries in tls, the limit is 5000: split it into several Ingresses',
    ]);
  });

  it('counts hosts with many labels several times, because each wildcard above them is looked up', async () => {
    expect(await review({ tls: tls(hosts(100, '.a'.repeat(100))) }, known)).toEqual([tooMany(1_300)]);
  });

  it('may be changed if it was stored before, but not be made larger', async () => {
    const before = { rules: rulesFor(1_100) };
    const annotations = { 'tidegate.io/x': 'y' };
    expect(await review({ ...before, annotations }, {}, before)).toEqual([
      `warning: ${tooMany(1_100)}. It was not checked`,
    ]);
    expect(await review({ rules: rulesFor(1_101) }, {}, before)).toEqual([tooMany(1_101)]);
    expect(await review({ rules: rulesFor(10) }, {}, before)).toEqual([]);
  });

  it('gives reviews of others a turn', async () => {
    let turns = 0;
    const turn = async (): Promise<void> => void turns++;
    const request = { name: 'new', namespace: 'shop', operation: 'CREATE' };
    await ruleOf().evaluate({ ...request, object: ingress({ rules: rulesFor(1_000) }) } as never, turn);
    expect(turns).toBeGreaterThan(19);
  });

  it('does not become expensive by Ingresses of others', async () => {
    let reads = 0;
    const others = Array.from({ length: 100 }, (_, index) => {
      const other = ingress({ namespace: 'evil', name: `o${index}`, rules: rulesFor(500) });
      const { spec } = other;
      const get = (): unknown => {
        reads++;
        return spec;
      };
      return Object.defineProperty(other, 'spec', { get });
    });
    const claims = [hostClaim('h1.example.com', 'shop')];
    const rule = ruleOf({ ingresses: others, claims });
    reads = 0;
    const request = { name: 'new', namespace: 'shop', operation: 'CREATE' };
    const object = ingress({ rules: { 'h1.example.com/': 'a:http' } });
    expect(await rule.evaluate({ ...request, object } as never)).toEqual({ problems: [], warnings: [] });
    // Counting reads the spec of 50 of them once; two are compiled.
    expect(reads).toBeLessThan(100);
  });
});

describe('the cost of a review', () => {
  it('does not grow with the number of hosts that another Ingress shares with it', async () => {
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
    await rule.evaluate({ name: 'new', namespace: 'shop', operation: 'CREATE', object } as never);
    // The compiler reads the spec a few times. Once per host would be 200 times more.
    expect(reads).toBeLessThan(20);
  });
});
