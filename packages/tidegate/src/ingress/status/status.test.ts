import { type Condition, getCondition, type Node, type Service } from '@tidegate/kube';
import { describe, expect, test } from 'vitest';
import type { L7Router, L7RouterStatus } from '../../api/index.ts';
import { addressesOf } from '../provision/index.ts';
import { type ObservedRouter, routerStatus } from './router-status.ts';

const service = (spec: Service['spec'], status?: Service['status']): Service => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name: 's' },
  spec: { ports: [{ name: 'http', port: 80, nodePort: 30080, protocol: 'TCP' }], ...spec },
  ...(status && { status }),
});
const node = (...addresses: [string, string][]): Node => ({
  apiVersion: 'v1',
  kind: 'Node',
  metadata: { name: 'n' },
  status: { addresses: addresses.map(([type, address]) => ({ type, address })) },
});

describe('addressesOf', () => {
  const nodes = [
    node(['InternalIP', '10.0.0.2'], ['ExternalIP', '198.51.100.2']),
    node(['Hostname', 'x'], ['InternalIP', '10.0.0.1']),
    node(['InternalIP', '10.0.0.1']),
  ];
  const at = (port: number) => [{ port, protocol: 'TCP' }];

  test('returns the nodes of a NodePort Service, preferably with their external IP addresses', () => {
    expect(addressesOf(service({ type: 'NodePort' }), nodes)).toEqual([
      { ip: '10.0.0.1', ports: at(30080) },
      { ip: '198.51.100.2', ports: at(30080) },
    ]);
  });

  test('returns the IP addresses and names of a load balancer', () => {
    const ingress = [{ ip: '203.0.113.1' }, { hostname: 'lb.example' }];
    expect(addressesOf(service({ type: 'LoadBalancer' }, { loadBalancer: { ingress } }), nodes)).toEqual([
      { ip: '203.0.113.1', ports: at(80) },
      { hostname: 'lb.example', ports: at(80) },
    ]);
    expect(addressesOf(service({ type: 'LoadBalancer' }), nodes)).toEqual([]);
  });

  test('prefers externalIPs, and returns the cluster IP of a ClusterIP Service', () => {
    expect(addressesOf(service({ type: 'NodePort', externalIPs: ['192.0.2.1'] }), nodes)).toEqual([
      { ip: '192.0.2.1', ports: at(80) },
    ]);
    expect(addressesOf(service({ type: 'ClusterIP', clusterIP: '10.96.0.9' }), nodes)).toEqual([
      { ip: '10.96.0.9', ports: at(80) },
    ]);
    expect(addressesOf(undefined, nodes)).toEqual([]);
  });
});

describe('routerStatus', () => {
  const router = (status: L7RouterStatus = {}, capacity = {}): L7Router => ({
    apiVersion: 'networking.tidegate.io/v1alpha1',
    kind: 'L7Router',
    metadata: { name: 'gold', generation: 4 },
    spec: { ingressClassName: 'gold', driver: 'nginx', capacity },
    status,
  });
  const observed: ObservedRouter = {
    addresses: [{ ip: '192.0.2.1' }],
    hasAgents: true,
    hosts: 2,
    rules: 5,
    problems: [],
    readyPods: ['a', 'b'],
    replicas: 2,
    rollout: { done: true, reason: 'RolledOut', message: '2 of 2 pods are available' },
  };
  const agents = (...generations: [string, number][]) =>
    generations.map(([name, appliedGeneration]) => ({ name, appliedGeneration }));
  const condition = (of: Partial<ObservedRouter>, type: string, capacity = {}): string => {
    const reported = { agents: agents(['a', 4], ['b', 4]) };
    const { conditions } = routerStatus(router(reported, capacity), { ...observed, ...of }, 0);
    const found = getCondition(conditions as Condition[], type);
    return `${found?.status} ${found?.reason}`;
  };

  test('reports the lowest generation that all ready pods have applied', () => {
    const applied = (...reports: [string, number][]) =>
      routerStatus(router({ agents: agents(...reports) }), observed, 0).appliedGeneration;
    expect(applied(['a', 4], ['b', 3], ['gone', 1])).toBe(3);
    expect(applied(['a', 4])).toBeUndefined();
    expect(routerStatus(router(), { ...observed, readyPods: [] }, 0).appliedGeneration).toBeUndefined();
  });

  test.each<[Partial<ObservedRouter>, string]>([
    [{}, 'True Serving'],
    [{ replicas: 0, readyPods: [] }, 'False NoReplicas'],
    [{ readyPods: [] }, 'False NoPodReady'],
    [{ readyPods: [], provisionProblem: 'no' }, 'False NotProvisioned'],
    [{ addresses: [] }, 'False NoAddress'],
    [{ readyPods: ['silent'] }, 'False NotReported'],
    [{ readyPods: ['silent'], hasAgents: false }, 'True Serving'],
  ])('with %j sets Ready to %s', (of, expected) => {
    expect(condition(of, 'Ready')).toBe(expected);
  });

  test('reports that the router is full, and why provisioning failed', () => {
    expect(condition({}, 'CapacityReached')).toBe('False HasRoom');
    expect(condition({}, 'CapacityReached', { maxHosts: 2 })).toBe('True HostsReached');
    expect(condition({}, 'CapacityReached', { maxRules: 5 })).toBe('True RulesReached');
    expect(condition({ classProblem: 'gone' }, 'Provisioned')).toBe('False ClassNotUnderstood');
  });

  test('reports pods in a pool, which do not see the endpoints of other pools', () => {
    expect(condition({}, 'SeesAllPools')).toBe('undefined undefined');
    const strayed = [{ pod: 'a', node: 'node-a', pool: 'hangzhou' }];
    expect(condition({ strayed }, 'SeesAllPools')).toBe('False RunsInPool');
  });

  test('lists twenty problems and counts all of them', () => {
    const problems = Array.from({ length: 25 }, (_, i) => ({
      ingress: `shop/${i}`,
      reason: 'R',
      message: 'm',
    }));
    const status = routerStatus(router(), { ...observed, problems }, 0);
    expect([status.problems?.length, status.problemCount]).toEqual([20, 25]);
  });
});
