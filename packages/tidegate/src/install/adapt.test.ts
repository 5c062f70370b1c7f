import { describe, expect, it } from 'vitest';
import { withSinglePorts } from './adapt.ts';

describe('a NetworkPolicy for an API server without port ranges', () => {
  it('has each port of a range', () => {
    const policy = withSinglePorts({
      apiVersion: 'networking.k8s.io/v1',
      kind: 'NetworkPolicy',
      metadata: { name: 'routers' },
      spec: { ingress: [{ ports: [{ port: 80 }, { port: 20_001, endPort: 20_003 }] }, {}] },
    });
    expect(policy.spec.ingress).toEqual([
      { ports: [{ port: 80 }, { port: 20_001 }, { port: 20_002 }, { port: 20_003 }] },
      {},
    ]);
  });
});
