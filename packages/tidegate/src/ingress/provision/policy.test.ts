import { describe, expect, it } from 'vitest';
import type { L7Router, L7RouterSpec } from '../../api/index.ts';
import { defaultImageOf, namespacesOf, type RouterPolicy, refusalOf } from './policy.ts';

const router = (workload: L7RouterSpec['workload'], driver = 'nginx'): L7Router => ({
  apiVersion: 'networking.tidegate.io/v1alpha1',
  kind: 'L7Router',
  metadata: { name: 'gold' },
  spec: { ingressClassName: 'gold', driver, ...(workload && { workload }) },
});
const refusal = (workload: L7RouterSpec['workload'], policy: RouterPolicy = {}, driver?: string) =>
  refusalOf(router(workload, driver), 'tidegate:1', policy);

describe('the policy for routers', () => {
  it('allows the default image in the namespaces of routers', () => {
    expect(refusal(undefined)).toBeUndefined();
    expect(refusal({ image: 'tidegate:1', namespace: 'ingress-nginx', replicas: 3 })).toBeUndefined();
  });

  it('refuses other images, unless the administrator allows them', () => {
    expect(refusal({ image: 'evil:1' })).toBe(
      'spec.workload.image: image "evil:1" is not allowed: remove it to use tidegate:1, or start the manager with --allow-router-image',
    );
    expect(refusal({ image: 'r.example/router:2' }, { images: ['r.example/router:*'] })).toBeUndefined();
    expect(refusal({ image: 'r.example/router:2' }, { images: ['r.example/router:2'] })).toBeUndefined();
    expect(refusal({ image: 'r.example/router:22' }, { images: ['r.example/router:2'] })).toContain('image');
    expect(refusal({ image: 'evil/r.example/router:2' }, { images: ['r.example/router:*'] })).toContain(
      'image',
    );
  });

  it('refuses namespaces of others', () => {
    expect(refusal({ namespace: 'kube-system' })).toContain(
      'routers may run in the namespaces tidegate-routers, ingress-nginx, not in kube-system',
    );
    expect(refusal({ namespace: 'tidegate-system' })).toContain('not in tidegate-system');
    expect(refusal({ namespace: 'edge' }, { namespaces: ['edge'] })).toBeUndefined();
    expect(namespacesOf({ namespaces: ['edge'] })).toEqual(['tidegate-routers', 'ingress-nginx', 'edge']);
  });

  it('refuses external addresses outside of the allowed ranges', () => {
    expect(refusal({ addresses: ['10.96.0.1'] })).toBe(
      'spec.workload.addresses: 10.96.0.1 is not in a range that routers may use: remove it, or start the manager with --allow-router-address',
    );
    const policy = { addresses: ['203.0.113.0/24', '2001:db8::/64', '192.0.2.1'] };
    expect(refusal({ addresses: ['203.0.113.7', '2001:db8::1', '192.0.2.1'] }, policy)).toBeUndefined();
    for (const address of ['203.0.114.7', '2001:db8:1::1', '192.0.2.2', '::ffff:10.96.0.1', 'x', ''])
      expect(refusal({ addresses: ['203.0.113.7', address] }, policy)).toContain(
        `${address} is not in a range`,
      );
  });

  it('refuses ingress-nginx, unless the administrator has enabled it', () => {
    expect(refusal({}, {}, 'ingress-nginx')).toContain('ingress-nginx is not enabled');
    const policy = { ingressNginxImage: 'ingress-nginx/controller:v1.11.2' };
    expect(refusal({}, policy, 'ingress-nginx')).toBeUndefined();
    expect(refusal({ image: 'ingress-nginx/controller:v1.11.3' }, policy, 'ingress-nginx')).toContain(
      'image',
    );
    // The image of one program is not allowed for the other, which has other permissions.
    expect(refusal({ image: 'tidegate:1' }, policy, 'ingress-nginx')).toContain('is not allowed');
    // Its account reads all Secrets, so no other router runs in its namespace, and it runs in no other.
    expect(refusal({ namespace: 'ingress-nginx' }, policy, 'ingress-nginx')).toBe(
      'spec.workload.namespace: routers with ingress-nginx run in the namespace tidegate-ingress-nginx, not in ingress-nginx: remove the field',
    );
    const more = { ...policy, namespaces: ['tidegate-ingress-nginx'] };
    expect(refusal({ namespace: 'tidegate-ingress-nginx' }, more)).toContain('not in tidegate-ingress-nginx');
    expect(namespacesOf(policy)).toEqual(['tidegate-routers', 'ingress-nginx', 'tidegate-ingress-nginx']);
    expect(defaultImageOf(router({}, 'ingress-nginx'), 'tidegate:1', policy)).toBe(policy.ingressNginxImage);
  });
});
