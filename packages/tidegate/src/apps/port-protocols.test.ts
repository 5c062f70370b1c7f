import { describe, expect, it } from 'vitest';
import { withPortProtocols } from './port-protocols.ts';

const service = (ports: unknown) => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name: 'a' },
  spec: { ports },
});

describe('withPortProtocols', () => {
  it('adds the default protocol to ports of a Service', () => {
    const udp = { port: 53, protocol: 'UDP' };
    expect(withPortProtocols(service([{ port: 80 }, udp]))).toEqual(
      service([{ port: 80, protocol: 'TCP' }, udp]),
    );
  });

  it('adds it to ports of all containers of a workload', () => {
    const deployment = (port: object) => ({
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { name: 'a' },
      spec: {
        template: {
          spec: {
            containers: [{ name: 'a' }, { name: 'b', ports: [port] }],
            initContainers: [{ name: 'c', ports: [port] }],
          },
        },
      },
    });
    const complete = { containerPort: 80, protocol: 'TCP' };
    expect(withPortProtocols(deployment({ containerPort: 80 }))).toEqual(deployment(complete));
  });

  it('returns other objects, complete ports and invalid ports unchanged', () => {
    for (const object of [
      { apiVersion: 'v1', kind: 'ConfigMap', metadata: {}, spec: { ports: [{ port: 1 }] } },
      service([{ port: 80, protocol: 'TCP' }]),
      service(['80']),
      service('none'),
    ])
      expect(withPortProtocols(object)).toBe(object);
  });
});
