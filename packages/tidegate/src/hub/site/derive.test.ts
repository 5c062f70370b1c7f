import type { EndpointSlice, Endpoints } from '@tidegate/kube';
import { describe, expect, it } from 'vitest';
import { deriveEndpoints, deriveSlice, type Knowledge, podsIn } from './derive.ts';
import type { PodReport } from './pod-report.ts';

const target = (name: string) => ({ kind: 'Pod', namespace: 'shop', name, uid: `uid-${name}` });
const conditions = { ready: true, serving: true, terminating: false };
const endpoint = (name: string, ip: string, node = 'edge') => ({
  addresses: [ip],
  conditions,
  nodeName: node,
  zone: 'z1',
  targetRef: target(name),
});
const slice = (...endpoints: object[]): EndpointSlice =>
  ({
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: { name: 'web-1', namespace: 'shop' },
    addressType: 'IPv4',
    ports: [{ port: 8080 }],
    endpoints,
  }) as EndpointSlice;
const endpoints = (...subsets: object[]): Endpoints =>
  ({
    apiVersion: 'v1',
    kind: 'Endpoints',
    metadata: { name: 'web', namespace: 'shop' },
    subsets,
  }) as Endpoints;
const address = (name: string, ip: string, nodeName = 'edge') => ({ ip, nodeName, targetRef: target(name) });
const report = (change: Partial<PodReport> = {}): PodReport => ({
  ips: ['10.0.0.1'],
  ready: true,
  terminating: false,
  ...change,
});
const knowing = (known: Record<string, Knowledge>, publishNotReady = false) => ({
  lookUp: ({ uid, node }: { uid: string; node: string }) =>
    node === 'edge' ? (known[uid] ?? 'unheard') : ('unheard' as const),
  publishNotReady,
});

describe('deriveSlice', () => {
  const heard = slice(endpoint('a', '10.0.0.1'), endpoint('b', '10.9.0.1', 'far'));
  const first = (known: Knowledge, publishNotReady = false) =>
    deriveSlice(heard, knowing({ 'uid-a': known }, publishNotReady)).endpoints[0];

  it('returns the same object if the reports confirm what the API server sent', () => {
    expect(deriveSlice(heard, knowing({ 'uid-a': report() }))).toBe(heard);
    expect(deriveSlice(heard, knowing({}))).toBe(heard);
    const readyByDefault = slice({ ...endpoint('a', '10.0.0.1'), conditions: {} });
    expect(deriveSlice(readyByDefault, knowing({ 'uid-a': report() }))).toBe(readyByDefault);
  });

  it('replaces an address that has changed, and keeps everything else', () => {
    expect(first(report({ ips: ['10.0.0.7'] }))).toEqual(endpoint('a', '10.0.0.7'));
  });

  it('shows that a pod is not ready, or ready again', () => {
    const notReady = { ready: false, serving: false, terminating: false };
    expect(first(report({ ready: false }))?.conditions).toEqual(notReady);
    expect(first(report({ ready: false }), true)?.conditions).toEqual({ ...notReady, ready: true });
    const before = slice({ ...endpoint('a', '10.0.0.1'), conditions: notReady });
    expect(deriveSlice(before, knowing({ 'uid-a': report() })).endpoints[0]?.conditions).toEqual(conditions);
  });

  it('shows that a pod is terminating, or removes it where slices cannot show that', () => {
    expect(first(report({ terminating: true }))?.conditions).toEqual({
      ready: false,
      serving: true,
      terminating: true,
    });
    const old = slice({ ...endpoint('a', '10.0.0.1'), conditions: { ready: true } });
    expect(deriveSlice(old, knowing({ 'uid-a': report({ terminating: true }) })).endpoints).toEqual([]);
  });

  it('removes a pod that is gone, has no address, or has none of the type', () => {
    const far = [endpoint('b', '10.9.0.1', 'far')];
    for (const known of ['gone', report({ ips: [] }), report({ ips: ['fd00::1'] })] as const)
      expect(deriveSlice(heard, knowing({ 'uid-a': known })).endpoints).toEqual(far);
  });

  it.each(['127.0.0.1', '169.254.169.254', '0.0.0.0', '224.0.0.1'])(
    'does not lead clients to the special address %s',
    (ip) => {
      expect(first(report({ ips: [ip] }))).toEqual(endpoint('b', '10.9.0.1', 'far'));
      const local = slice(endpoint('a', '127.9.0.1'));
      const derived = deriveSlice(local, knowing({ 'uid-a': report({ ips: ['127.9.0.2'] }) }));
      expect(derived.endpoints[0]?.addresses).toEqual(['127.9.0.2']);
    },
  );

  it('shows pods of a node that is lost in the site as not ready', () => {
    expect(first('lost')).toEqual({
      ...endpoint('a', '10.0.0.1'),
      conditions: { ready: false, serving: false, terminating: false },
    });
    expect(deriveSlice(heard, knowing({ 'uid-a': 'lost' }, true))).toBe(heard);
  });

  it('chooses the address of the type of the slice', () => {
    const six = { ...slice({ ...endpoint('a', 'fd00::1') }), addressType: 'IPv6' };
    const known = { 'uid-a': report({ ips: ['10.0.0.1', 'fd00::2'] }) };
    expect(deriveSlice(six, knowing(known)).endpoints[0]?.addresses).toEqual(['fd00::2']);
  });

  it('reads the node of slices before discovery.k8s.io/v1, and leaves endpoints without a pod alone', () => {
    const { nodeName: _, ...rest } = endpoint('a', '10.0.0.1');
    const old = slice(
      { ...rest, topology: { 'kubernetes.io/hostname': 'edge' } },
      { addresses: ['10.0.0.9'] },
    );
    const derived = deriveSlice(old, knowing({ 'uid-a': 'gone' }));
    expect(derived.endpoints).toEqual([{ addresses: ['10.0.0.9'] }]);
    expect(podsIn(old)).toEqual([{ uid: 'uid-a', node: 'edge' }]);
  });
});

describe('deriveEndpoints', () => {
  const ports = [{ port: 8080 }];
  const heard = endpoints({
    addresses: [address('a', '10.0.0.1'), address('b', '10.9.0.1', 'far')],
    notReadyAddresses: [address('c', '10.0.0.3')],
    ports,
  });
  const derive = (known: Record<string, Knowledge>, publishNotReady = false) =>
    deriveEndpoints(heard, knowing(known, publishNotReady)).subsets;

  it('returns the same object if the reports confirm what the API server sent', () => {
    const known = { 'uid-a': report(), 'uid-c': report({ ready: false, ips: ['10.0.0.3'] }) };
    expect(deriveEndpoints(heard, knowing(known))).toBe(heard);
  });

  it('moves addresses between ready and not ready, and replaces them', () => {
    const known = {
      'uid-a': report({ ready: false }),
      'uid-c': report({ ips: ['10.0.0.8'] }),
    };
    expect(derive(known)).toEqual([
      {
        addresses: [address('b', '10.9.0.1', 'far'), address('c', '10.0.0.8')],
        notReadyAddresses: [address('a', '10.0.0.1')],
        ports,
      },
    ]);
  });

  it('shows pods of a node that is lost in the site as not ready', () => {
    const [subset] = derive({ 'uid-a': 'lost', 'uid-c': 'lost' }) ?? [];
    expect(subset?.addresses).toEqual([address('b', '10.9.0.1', 'far')]);
    expect(subset?.notReadyAddresses).toEqual([address('a', '10.0.0.1'), address('c', '10.0.0.3')]);
  });

  it('removes pods that are gone or terminating, and subsets that become empty', () => {
    expect(derive({ 'uid-a': 'gone', 'uid-c': report({ terminating: true }) })).toEqual([
      { addresses: [address('b', '10.9.0.1', 'far')], ports },
    ]);
    const one = endpoints({ addresses: [address('a', '10.0.0.1')], ports });
    expect(deriveEndpoints(one, knowing({ 'uid-a': 'gone' })).subsets).toEqual([]);
    expect(podsIn(heard).map(({ uid }) => uid)).toEqual(['uid-a', 'uid-b', 'uid-c']);
  });
});
