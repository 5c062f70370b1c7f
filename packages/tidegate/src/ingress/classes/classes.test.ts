import type { ConfigMap, IngressClass } from '@tidegate/kube';
import { describe, expect, test } from 'vitest';
import type { IngressClassParameters } from '../../api/index.ts';
import { ProvisionerRegistry } from '../provisioners/index.ts';
import { familiesOf } from './families.ts';
import { type ParametersReference, type ResolvedClass, resolveClass } from './resolve.ts';
import { readSettings as readFor } from './settings.ts';

const provisioners = new ProvisionerRegistry();
const readSettings = (parameters: Record<string, string>) =>
  readFor(parameters, provisioners.forController('tidegate.io/nginx')!);

const ingressClass = (name: string, parameters?: object, controller = 'tidegate.io/nginx'): IngressClass => ({
  apiVersion: 'networking.k8s.io/v1',
  kind: 'IngressClass',
  metadata: { name, creationTimestamp: '2026-01-01T00:00:00Z' },
  spec: { controller, ...(parameters && { parameters: parameters as never }) },
});
const ours = { apiGroup: 'networking.tidegate.io', kind: 'IngressClassParameters', name: 'p' };

describe('readSettings', () => {
  test('returns the defaults without parameters', () => {
    expect(readSettings({})).toEqual({
      settings: {
        capacity: { maxHosts: 10_000 },
        workload: {},
        fixed: {},
        drainMs: 300_000,
        publishNodeAnnotation: false,
      },
      problems: [],
      unknown: [],
      ignored: [],
    });
  });

  test('reads every parameter', () => {
    const { settings, problems, unknown } = readSettings({
      maxHosts: '5',
      maxRules: '50',
      replicas: '2',
      image: 'example/tidegate:1',
      namespace: 'doors',
      serviceType: 'LoadBalancer',
      addresses: '203.0.113.7, 2001:db8::1',
      httpPort: '8000',
      httpsPort: '8001',
      httpNodePort: '30080,30081',
      httpsNodePort: '30443',
      pool: 'paris',
      sharedAddress: 'front',
      sharedPods: 'pods',
      drainTime: '90s',
      publishNodeAnnotation: 'true',
    });
    expect({ problems, unknown }).toEqual({ problems: [], unknown: [] });
    expect(settings).toEqual({
      capacity: { maxHosts: 5, maxRules: 50 },
      workload: {
        replicas: 2,
        image: 'example/tidegate:1',
        namespace: 'doors',
        sharedPods: 'pods',
        serviceType: 'LoadBalancer',
        httpPort: 8000,
        httpsPort: 8001,
      },
      fixed: {
        addresses: ['203.0.113.7', '2001:db8::1'],
        httpNodePorts: [30080, 30081],
        httpsNodePorts: [30443],
      },
      drainMs: 90_000,
      pool: 'paris',
      sharedAddress: 'front',
      publishNodeAnnotation: true,
    });
  });

  test.each([
    ['maxHosts', '0', 'write a number from 1 to 20000'],
    ['maxHosts', '1e3', 'write a number'],
    ['replicas', '-1', 'write a number from 0 to 1000'],
    ['httpPort', '65536', 'write a number from 1 to 65535'],
    ['serviceType', 'nodeport', 'write one of NodePort, LoadBalancer, ClusterIP'],
    ['addresses', 'here', 'write comma-separated IP addresses'],
    ['pool', 'a b', 'write a name of at most 63'],
    ['image', ' ', 'write a text'],
    ['httpNodePort', '30080,x', 'write comma-separated numbers from 1 to 65535'],
    ['drainTime', '5 minutes', 'write a time, for example'],
    ['publishNodeAnnotation', 'yes', 'write one of true, false'],
  ])('reports that %s cannot be %j', (key, value, advice) => {
    const { problems } = readSettings({ [key]: value });
    expect(problems).toEqual([
      expect.stringContaining(`${key}: ${JSON.stringify(value)} is invalid: ${advice}`),
    ]);
  });

  test('reads what the class says about clients, and the keys of ingress-nginx', () => {
    const { settings, problems, unknown } = readSettings({
      externalTrafficPolicy: 'Local',
      externalHttpsPort: '8443',
      'use-forwarded-headers': 'true',
      'proxy-real-ip-cidr': '10.0.0.0/8',
      'proxy-body-size': '8m',
    });
    expect([problems, unknown]).toEqual([[], []]);
    expect(settings.workload).toEqual({ externalTrafficPolicy: 'Local' });
    expect(settings.clients).toEqual({
      httpsPort: 8443,
      trustedProxies: ['10.0.0.0/8'],
      header: 'X-Forwarded-For',
      wholeUrl: true,
    });
    expect(settings.ingressDefaults).toEqual({ 'proxy-body-size': '8m' });
  });

  test.each<[Record<string, string>, string]>([
    [{ 'use-forwarded-headers': 'true' }, 'use-forwarded-headers: needs proxy-real-ip-cidr'],
    [{ 'block-user-agents': 'curl' }, 'block-user-agents: is refused.'],
    [
      { 'use-proxy-protocol': 'true', 'proxy-real-ip-cidr': '10.0.0.1', sharedPods: 'front' },
      'use-proxy-protocol: cannot be combined with sharedPods',
    ],
    [
      { externalTrafficPolicy: 'Local', serviceType: 'ClusterIP' },
      'externalTrafficPolicy: needs serviceType NodePort or LoadBalancer',
    ],
  ])('refuses %j', (parameters, message) => {
    expect(readSettings(parameters).problems).toEqual([expect.stringContaining(message)]);
  });

  test('reports unknown parameters, also those that are properties of every JavaScript object', () => {
    expect(readSettings({ color: 'blue', constructor: 'x' }).unknown).toEqual(['color', 'constructor']);
  });
});

describe('resolveClass', () => {
  const asked: ParametersReference[] = [];
  const resolve = (object: IngressClass, found?: IngressClassParameters | ConfigMap) =>
    resolveClass(
      object,
      {
        get: (reference) => {
          asked.push(reference);
          return found;
        },
      },
      provisioners,
    );

  test('ignores classes of other controllers', () => {
    expect(resolve(ingressClass('x', undefined, 'k8s.io/ingress-nginx'))).toBeUndefined();
    expect(resolve(ingressClass('x', undefined, 'tidegate.io/other'))).toBeUndefined();
  });

  test('looks for parameters in the system namespace, or in the namespace of the reference', () => {
    asked.length = 0;
    resolve(ingressClass('x', ours));
    resolve(ingressClass('x', { ...ours, scope: 'Namespace', namespace: 'shop' }));
    resolve(ingressClass('x', { kind: 'ConfigMap', name: 'c' }));
    expect(asked).toEqual([
      { kind: 'IngressClassParameters', namespace: 'tidegate-system', name: 'p' },
      { kind: 'IngressClassParameters', namespace: 'shop', name: 'p' },
      { kind: 'ConfigMap', namespace: 'tidegate-system', name: 'c' },
    ]);
  });

  test('lets tenants choose the size of routers, but not that each host gets a router', () => {
    const capacityOf = (namespace: string, parameters: Record<string, string>) => {
      const reference = { ...ours, scope: 'Namespace' as const, namespace };
      const { settings, problems = [] } =
        resolve(ingressClass('x', reference), {
          apiVersion: 'networking.tidegate.io/v1alpha1',
          kind: 'IngressClassParameters',
          metadata: { name: 'p', namespace },
          parameters,
        }) ?? {};
      return problems[0]?.message ?? settings?.capacity;
    };
    expect(capacityOf('shop', { maxHosts: '1000', maxRules: '10000' })).toEqual({
      maxHosts: 1000,
      maxRules: 10_000,
    });
    expect(capacityOf('shop', { maxHosts: '999' })).toBe(
      'IngressClassParameters shop/p sets maxHosts to 999, nothing is provisioned. In the namespace shop, it must be at least 1000: move the parameters to tidegate-system, or increase it.',
    );
    expect(capacityOf('shop', { maxRules: '1' })).toContain('it must be at least 10000');
    expect(capacityOf('tidegate-system', { maxHosts: '1', maxRules: '1' })).toEqual({
      maxHosts: 1,
      maxRules: 1,
    });
  });

  test('takes the ConfigMap of ingress-nginx, but none of a tenant', () => {
    const data = { 'proxy-body-size': '8m', 'use-gzip': 'true', 'no-such-key': 'x' };
    const configMap = (namespace: string): ConfigMap => ({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'c', namespace },
      data,
    });
    const reference = { kind: 'ConfigMap', name: 'c' };
    expect(resolve(ingressClass('x', reference), configMap('tidegate-system'))).toMatchObject({
      settings: { ingressDefaults: { 'proxy-body-size': '8m' } },
      problems: [
        { reason: 'UnknownParameters', message: expect.stringContaining('"no-such-key"') },
        {
          reason: 'ParametersIgnored',
          message: expect.stringContaining('use-gzip: Routers do not compress'),
        },
      ],
    });
    const tenants = { ...reference, scope: 'Namespace' as const, namespace: 'shop' };
    expect(resolve(ingressClass('x', tenants), configMap('shop'))).toMatchObject({
      settings: undefined,
      problems: [{ message: expect.stringContaining('must not set proxy-body-size, use-gzip') }],
    });
  });

  test('returns no settings without its parameters, and reports where they are expected', () => {
    expect(resolve(ingressClass('x', ours))).toMatchObject({
      settings: undefined,
      problems: [
        {
          reason: 'ParametersNotFound',
          message: expect.stringContaining(
            'spec.parameters: IngressClassParameters tidegate-system/p not found',
          ),
        },
      ],
    });
    expect(resolve(ingressClass('x', { kind: 'Secret', name: 's' }))?.problems[0]?.message).toContain(
      'Use an IngressClassParameters of networking.tidegate.io, or a ConfigMap',
    );
  });
});

describe('familiesOf', () => {
  const resolved = (
    name: string,
    created: number,
    more: Partial<ResolvedClass> & { sharedAddress?: string } = {},
  ) => {
    const { sharedAddress, ...rest } = more;
    const { settings } = readSettings(sharedAddress === undefined ? {} : { sharedAddress });
    return { name, created, driver: 'nginx', programming: 'agent' as const, settings, problems: [], ...rest };
  };
  const keys = (
    classes: ResolvedClass[],
    sharedBefore: Record<string, string> = {},
  ): Record<string, string[]> =>
    Object.fromEntries(
      [...familiesOf(classes, (name) => sharedBefore[name]).families].map(
        ([key, { classNames, settings }]) => [
          settings === undefined ? `${key} (held)` : key,
          [...classNames],
        ],
      ),
    );

  test('puts classes that share an address into one family, the oldest first', () => {
    expect(
      keys([
        resolved('gold', 3, { sharedAddress: 'front' }),
        resolved('silver', 2),
        resolved('bronze', 1, { sharedAddress: 'front' }),
      ]),
    ).toEqual({ 'shared/front': ['bronze', 'gold'], 'class/silver': ['silver'] });
  });

  test('keeps a class with invalid parameters in its family, and holds the whole family', () => {
    const unclear = resolved('gold', 1, { settings: undefined });
    const other = resolved('silver', 2, { sharedAddress: 'front' });
    expect(keys([unclear, other])).toEqual({ 'class/gold (held)': ['gold'], 'shared/front': ['silver'] });
    expect(keys([unclear, other], { gold: 'front' })).toEqual({ 'shared/front (held)': ['gold', 'silver'] });
  });

  test('rejects a class that shares an address with a class of another driver', () => {
    const { families, problems } = familiesOf(
      [
        resolved('gold', 1, { sharedAddress: 'front' }),
        resolved('silver', 2, { sharedAddress: 'front', driver: 'embedded' }),
      ],
      () => undefined,
    );
    expect(families.get('class/silver')?.settings).toBeUndefined();
    expect(problems.get('silver')).toEqual([
      {
        reason: 'AddressConflict',
        message: expect.stringContaining('is used by IngressClass gold with the data plane nginx'),
      },
    ]);
  });

  test('gives classes with the same sharedPods the pods of the oldest, and each its own ports', () => {
    const sharing = (name: string, created: number, parameters: Record<string, string>, driver = 'nginx') =>
      resolved(name, created, {
        driver,
        settings: readSettings({ sharedPods: 'front', ...parameters }).settings,
      });
    const { families, problems } = familiesOf(
      [
        sharing('gold', 1, { replicas: '2', pool: 'paris', httpPort: '81' }),
        sharing('silver', 2, { replicas: '3', image: 'x', httpPort: '82' }),
        sharing('tin', 3, {}, 'embedded'),
      ],
      () => undefined,
    );
    expect(families.get('class/silver')?.settings).toMatchObject({ pool: 'paris' });
    expect(families.get('class/silver')?.settings?.workload).toEqual({
      sharedPods: 'front',
      replicas: 2,
      httpPort: 82,
    });
    expect(problems.get('gold')).toEqual([]);
    expect(problems.get('silver')).toMatchObject([{ reason: 'ParametersIgnored' }]);
    expect(families.get('class/tin')?.settings).toBeUndefined();
    expect(problems.get('tin')).toMatchObject([{ reason: 'PodsConflict' }]);
  });
});
