import { describe, expect, it } from 'vitest';
import { portsKey, wantedGroups } from './slice-groups.ts';
import { node, type PodOptions, pod, service } from './testing.ts';

const nodes = new Map([['n1', node('n1', { 'topology.kubernetes.io/zone': 'z1' })]]);
const nodeNamed = (name: string) => nodes.get(name);
const groupsOf = (spec: object, ...pods: PodOptions[]) =>
  wantedGroups(
    service(spec),
    pods.map((options, i) => pod(`p${i}`, { ip: `127.64.1.${i + 2}`, ...options })),
    nodeNamed,
  );
const conditionsOf = (spec: object, options: PodOptions) =>
  groupsOf(spec, options)[0]?.endpoints[0]?.conditions;

describe('wantedGroups', () => {
  it('fills in all fields of an endpoint', () => {
    expect(groupsOf({}, {})).toEqual([
      {
        addressType: 'IPv4',
        ports: [{ name: '', port: 8080, protocol: 'TCP' }],
        endpoints: [
          {
            addresses: ['127.64.1.2'],
            conditions: { ready: true, serving: true, terminating: false },
            nodeName: 'n1',
            zone: 'z1',
            targetRef: { kind: 'Pod', namespace: 'default', name: 'p0', uid: 'uid-of-p0' },
          },
        ],
      },
    ]);
  });

  it('distinguishes ready, serving and terminating', () => {
    expect(conditionsOf({}, { ready: false })).toEqual({ ready: false, serving: false, terminating: false });
    expect(conditionsOf({}, { terminating: true })).toEqual({
      ready: false,
      serving: true,
      terminating: true,
    });
    const publishNotReadyAddresses = true;
    expect(conditionsOf({ publishNotReadyAddresses }, { ready: false, terminating: true })).toEqual({
      ready: true,
      serving: false,
      terminating: true,
    });
  });

  it('omits pods that are finished, have no address, or whose node is gone', () => {
    const empty = [{ addressType: 'IPv4', ports: [], endpoints: [] }];
    expect(
      groupsOf({}, { phase: 'Succeeded' }, { phase: 'Failed' }, { ip: undefined }, { node: 'gone' }),
    ).toEqual(empty);
    expect(conditionsOf({ publishNotReadyAddresses: true }, { node: 'gone' })?.ready).toBe(true);
    expect(groupsOf({})).toEqual(empty);
  });

  it('resolves port names for each pod and groups by the result', () => {
    const ports = [
      { name: 'http', port: 80, targetPort: 'web' },
      { name: 'admin', port: 81, targetPort: 9000, appProtocol: 'kubernetes.io/h2c' },
      { name: 'same', port: 82 },
    ];
    const groups = groupsOf(
      { ports },
      { ports: { web: 8080 } },
      { ports: { web: 8081 } },
      { ports: { web: 8080 } },
      {},
    );
    const always = [
      { name: 'admin', port: 9000, protocol: 'TCP', appProtocol: 'kubernetes.io/h2c' },
      { name: 'same', port: 82, protocol: 'TCP' },
    ];
    expect(groups.map((group) => [group.ports, group.endpoints.map((e) => e.targetRef?.name)])).toEqual([
      [
        [{ name: 'http', port: 8080, protocol: 'TCP' }, ...always],
        ['p0', 'p2'],
      ],
      [[{ name: 'http', port: 8081, protocol: 'TCP' }, ...always], ['p1']],
      [always, ['p3']],
    ]);
  });

  it('finds named ports by protocol, also in sidecars', () => {
    const ports = [{ port: 53, targetPort: 'dns', protocol: 'UDP' as const }];
    const withSidecar = pod('p', { ip: '127.64.1.2', ports: { dns: 1053 } });
    withSidecar.spec!.initContainers = [
      { name: 'once', ports: [{ name: 'dns', containerPort: 1, protocol: 'UDP' }] },
      {
        name: 'side',
        restartPolicy: 'Always',
        ports: [{ name: 'dns', containerPort: 5353, protocol: 'UDP' }],
      },
    ];
    const [group] = wantedGroups(service({ ports }), [withSidecar], nodeNamed);
    expect(group?.ports).toEqual([{ name: '', port: 5353, protocol: 'UDP' }]);
  });

  it('a headless Service without ports has none, and its pods have hostnames', () => {
    const groups = groupsOf(
      { clusterIP: 'None', ports: undefined },
      { hostname: 'db-0', subdomain: 'web' },
      { hostname: 'db-1', subdomain: 'other' },
    );
    expect(groups).toHaveLength(1);
    expect(groups[0]?.ports).toEqual([]);
    expect(groups[0]?.endpoints.map(({ hostname }) => hostname)).toEqual(['db-0', undefined]);
  });

  it('sets hints when traffic should stay close', () => {
    const hintsOf = (trafficDistribution: string, options: PodOptions = {}) =>
      groupsOf({ trafficDistribution }, options)[0]?.endpoints[0]?.hints;
    expect(hintsOf('PreferClose')).toEqual({ forZones: [{ name: 'z1' }] });
    expect(hintsOf('PreferSameNode')).toEqual({ forZones: [{ name: 'z1' }], forNodes: [{ name: 'n1' }] });
    expect(hintsOf('PreferClose', { ready: false })).toBeUndefined();
  });
});

it('portsKey does not depend on the order', () => {
  const [a, b] = [
    { name: 'a', port: 1 },
    { name: 'b', port: 2, protocol: 'UDP' },
  ];
  expect(portsKey([a, b])).toBe(portsKey([b, a]));
  expect(portsKey([a])).not.toBe(portsKey([{ ...a, port: 2 }]));
  expect(portsKey([])).toBe('');
});
