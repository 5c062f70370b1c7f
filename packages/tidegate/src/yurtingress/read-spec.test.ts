import { describe, expect, it } from 'vitest';
import { readSpec } from './read-spec.ts';

describe('the spec of a YurtIngress', () => {
  it('can be in snake_case, as in the proposal of OpenYurt', () => {
    expect(
      readSpec({
        ingress_controller_replicas_per_pool: 2,
        ingress_controller_image: 'a',
        ingress_webhook_certgen_image: 'b',
        pools: [{ name: 'x', ingress_ips: ['192.0.2.1'] }, { name: 'y' }],
      }),
    ).toEqual({
      replicas: 2,
      flavor: 'tidegate',
      image: 'a',
      certgenImage: 'b',
      pools: new Map([
        ['x', ['192.0.2.1']],
        ['y', []],
      ]),
    });
  });

  it('can be in camelCase, as in releases of OpenYurt', () => {
    expect(
      readSpec({
        ingressControllerReplicasPerPool: 2,
        ingressControllerImage: 'a',
        ingressWebhookCertGenImage: 'b',
        pools: [{ name: 'x', ingressIPs: ['192.0.2.1'] }],
      }),
    ).toEqual({
      replicas: 2,
      flavor: 'tidegate',
      image: 'a',
      certgenImage: 'b',
      pools: new Map([['x', ['192.0.2.1']]]),
    });
  });

  it('defaults to one replica per pool', () => {
    expect(readSpec()).toEqual({ replicas: 1, flavor: 'tidegate', pools: new Map() });
  });
});
