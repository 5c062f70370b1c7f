import { describe, expect, it } from 'vitest';
import { MAX_ADDRESSES, truncateSubsets, wantedSubsets } from './subsets.ts';
import { type PodOptions, pod, service } from './testing.ts';

const subsetsOf = (spec: object, ...pods: PodOptions[]) =>
  wantedSubsets(
    service(spec),
    pods.map((options, i) => pod(`p${i}`, { ip: `127.64.1.${i + 2}`, ...options })),
  );
const ips = (addresses: { ip: string }[] | undefined) => addresses?.map(({ ip }) => ip);

describe('wantedSubsets', () => {
  it('sorts addresses by readiness and refers to their pods', () => {
    const [subset, ...others] = subsetsOf(
      {},
      {},
      { ready: false },
      { terminating: true },
      { phase: 'Failed' },
    );
    expect(others).toEqual([]);
    expect(subset).toEqual({
      addresses: [
        {
          ip: '127.64.1.2',
          nodeName: 'n1',
          targetRef: { kind: 'Pod', namespace: 'default', name: 'p0', uid: 'uid-of-p0' },
        },
      ],
      notReadyAddresses: [expect.objectContaining({ ip: '127.64.1.3' })],
      ports: [{ port: 8080, protocol: 'TCP' }],
    });
    expect(subsetsOf({})).toEqual([]);
  });

  it('publishes addresses that are not ready when the Service asks for it', () => {
    const [subset] = subsetsOf({ publishNotReadyAddresses: true }, { ready: false }, { terminating: true });
    expect(ips(subset?.addresses)).toEqual(['127.64.1.2', '127.64.1.3']);
  });

  it('puts ports on which the same pods listen into one subset', () => {
    const ports = [
      { name: 'http', port: 80, targetPort: 'web' },
      { name: 'a', port: 81 },
      { name: 'b', port: 82 },
    ];
    const subsets = subsetsOf({ ports }, { ports: { web: 8080 } }, { ports: { web: 8081 } }, {});
    expect(subsets.map((s) => [ips(s.addresses)?.length, s.ports?.map(({ port }) => port)])).toEqual([
      [3, [81, 82]],
      [1, [8080]],
      [1, [8081]],
    ]);
  });

  it('needs no ports for a headless Service', () => {
    const [subset] = subsetsOf({ clusterIP: 'None', ports: [] }, { hostname: 'db-0', subdomain: 'web' });
    expect(subset).toMatchObject({ addresses: [{ ip: '127.64.1.2', hostname: 'db-0' }] });
    expect(subset?.ports).toBeUndefined();
  });
});

describe('truncateSubsets', () => {
  const addresses = (count: number) =>
    Array.from({ length: count }, (_, i) => ({ ip: `10.0.${i >> 8}.${i & 255}` }));
  const sizes = (...subsets: { ready: number; notReady: number }[]) => {
    const given = subsets.map(({ ready, notReady }) => ({
      addresses: addresses(ready),
      notReadyAddresses: addresses(notReady),
    }));
    const result = truncateSubsets(given);
    return [
      result.isTruncated,
      ...result.subsets.map((s) => [s.addresses?.length ?? 0, s.notReadyAddresses?.length ?? 0]),
    ];
  };

  it('leaves small Endpoints unchanged', () => {
    expect(sizes({ ready: 600, notReady: MAX_ADDRESSES - 600 })).toEqual([false, [600, 400]]);
  });

  it('drops addresses that are not ready first, then shortens in proportion', () => {
    expect(sizes({ ready: 700, notReady: 900 })).toEqual([true, [700, 300]]);
    expect(sizes({ ready: 900, notReady: 5 }, { ready: 300, notReady: 0 })).toEqual([
      true,
      [750, 0],
      [250, 0],
    ]);
    expect(sizes({ ready: 500, notReady: 200 }, { ready: 0, notReady: 800 })).toEqual([
      true,
      [500, 100],
      [0, 400],
    ]);
  });
});
