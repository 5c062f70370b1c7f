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

  it.each([
    'registry.k8s.io/ingress-nginx/controller:v0.48.1',
    'k8s.gcr.io/ingress-nginx/controller:v0.48.1@sha256:e9fb216ace49dfa4a5983b183067e97496e7a8b307d2093f4278cd550c303899',
    'mirror.example.com:5000/library/ingress-nginx/controller:0.49.0',
    'quay.io/kubernetes-ingress-controller/nginx-ingress-controller:0.26.1',
  ])(
    'does not use %s: OpenYurt wrote it into every object, and its flags are those of another program',
    (image) => {
      expect(readSpec({ ingressControllerImage: image }).image).toBeUndefined();
      expect(readSpec({ ingress_controller_image: image }).image).toBeUndefined();
    },
  );

  it.each([
    'registry.k8s.io/ingress-nginx/controller:v1.11.2',
    'registry.k8s.io/ingress-nginx/controller',
    'example.com/our/router:v0.48.1',
  ])('uses %s', (image) => {
    expect(readSpec({ ingressControllerImage: image }).image).toBe(image);
  });

  it('defaults to one replica per pool', () => {
    expect(readSpec()).toEqual({ replicas: 1, flavor: 'tidegate', pools: new Map() });
  });
});
