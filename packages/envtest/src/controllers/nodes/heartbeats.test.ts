import type { Lease, Node } from '@tidegate/kube';
import { describe, expect, it } from 'vitest';
import { beatOf, Heartbeats } from './heartbeats.ts';
import { Uptime } from './uptime.ts';

describe('beatOf', () => {
  const node = (lastHeartbeatTime?: string, reason = 'KubeletReady'): Node => ({
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name: 'n' },
    status: { conditions: [{ type: 'Ready', status: 'True', reason, lastHeartbeatTime }] },
  });
  const lease = (renewTime: string): Lease => ({
    apiVersion: 'coordination.k8s.io/v1',
    kind: 'Lease',
    metadata: { name: 'n' },
    spec: { renewTime },
  });

  it('changes with the Lease and with the status', () => {
    const beats = [
      beatOf(node('1'), undefined),
      beatOf(node('2'), undefined),
      beatOf(node('2'), lease('1')),
      beatOf(node('2'), lease('2')),
    ];
    expect(new Set(beats).size).toBe(4);
  });

  it('ignores conditions that the controller itself wrote', () => {
    const silent: Node = { apiVersion: 'v1', kind: 'Node', metadata: { name: 'n' } };
    expect(beatOf(node('2025', 'NodeStatusNeverUpdated'), undefined)).toBe(beatOf(silent, undefined));
  });
});

describe('Heartbeats', () => {
  it('counts from the first observation, then from each heartbeat', () => {
    const heartbeats = new Heartbeats();
    heartbeats.observe('a', 'old', 1000);
    expect(heartbeats.silence('a', 1500, 0)).toBe(500);
    heartbeats.observe('a', 'old', 1600);
    expect(heartbeats.silence('a', 2000, 0)).toBe(1000);
    heartbeats.observe('a', 'new', 2000);
    expect(heartbeats.silence('a', 2100, 0)).toBe(100);
  });

  it('does not count time in which the API server was down', () => {
    const heartbeats = new Heartbeats();
    heartbeats.observe('a', 'x', 0);
    expect(heartbeats.silence('a', 100_000, 99_000)).toBe(1000);
  });

  it('reports whether any node sends heartbeats; the first observation does not count', () => {
    const heartbeats = new Heartbeats();
    heartbeats.observe('a', 'x', 0);
    heartbeats.observe('b', 'x', 0);
    expect(heartbeats.silenceOfAll(10)).toBe(Number.POSITIVE_INFINITY);
    heartbeats.observe('b', 'y', 10);
    expect(heartbeats.silenceOfAll(15)).toBe(5);
  });
});

describe('Uptime', () => {
  it('starts again after every interruption', () => {
    const uptime = new Uptime(300);
    expect(uptime.since(50)).toBe(50);
    uptime.answered(100);
    uptime.answered(300);
    expect(uptime.since(400)).toBe(100);
    expect(uptime.since(601)).toBe(601);
    uptime.answered(700);
    expect(uptime.since(800)).toBe(700);
  });
});
