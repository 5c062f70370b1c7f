import type { Pod, Service } from '@tidegate/kube';
import { describe, expect, test } from 'vitest';
import { selects, standInPorts } from './ports.ts';

const pod = (
  containers: { name: string; ports?: { containerPort: number; protocol?: string }[] }[],
): Pod => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'p', namespace: 'shop', labels: { app: 'web', tier: 'front' } },
  spec: { containers },
});

const service = (spec: Service['spec'], namespace = 'shop'): Service => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name: 's', namespace },
  spec,
});

const web = { name: 'web', ports: [{ containerPort: 8080 }, { containerPort: 53, protocol: 'UDP' }] };
const sidecar = { name: 'sidecar', ports: [{ containerPort: 9000 }] };

describe('the ports of a stand-in', () => {
  test('are the TCP ports that its container declares', () => {
    expect(standInPorts(pod([web, sidecar]), web, [], true)).toEqual([8080]);
  });

  test('include target ports of Services that no container declares, on one container only', () => {
    const services = [
      service({ ports: [{ port: 80, targetPort: 8000 }, { port: 9000 }] }),
      service({ ports: [{ port: 81 }, { port: 82, targetPort: 'named' }, { port: 5, protocol: 'UDP' }] }),
    ];
    expect(standInPorts(pod([web, sidecar]), web, services, true)).toEqual([81, 8000, 8080]);
    expect(standInPorts(pod([web, sidecar]), sidecar, services, false)).toEqual([9000]);
  });

  test('include the ports of its probes, unless another container declares them', () => {
    const probed = {
      name: 'probed',
      readinessProbe: { httpGet: { port: 80 } },
      livenessProbe: { tcpSocket: { port: 9000 } },
      startupProbe: { httpGet: { port: 'named' } },
    };
    expect(standInPorts(pod([probed, sidecar]), probed, [], false)).toEqual([80]);
  });
});

describe('a Service selects a pod', () => {
  test.each([
    ['all labels match', service({ selector: { app: 'web' } }), true],
    ['a label differs', service({ selector: { app: 'web', tier: 'back' } }), false],
    ['no selector', service({}), false],
    ['another namespace', service({ selector: { app: 'web' } }, 'other'), false],
  ])('%s', (_case, candidate, expected) => {
    expect(selects(candidate, pod([]))).toBe(expected);
  });
});
