import type { Deployment, KubeObject } from '@tidegate/kube';
import { describe, expect, it } from 'vitest';
import type { L7Router } from '../../api/index.ts';
import { objectsFor } from './workload.ts';

const router = (name: string, driver = 'ingress-nginx', addresses?: string[]): L7Router => ({
  apiVersion: 'networking.tidegate.io/v1alpha1',
  kind: 'L7Router',
  metadata: { name, uid: `uid-${name}` },
  spec: {
    ingressClassName: name,
    driver,
    pool: name,
    workload: {
      namespace: 'ingress-nginx',
      image: 'ingress-nginx/controller:v1.11.2',
      ...(addresses && { addresses }),
    },
  },
});
const names = (objects: KubeObject[]): string[] =>
  objects.map(
    ({ kind, metadata }) => `${kind} ${[metadata.namespace, metadata.name].filter(Boolean).join('/')}`,
  );
const argumentsOf = (objects: KubeObject[]): string[] => {
  const deployment = objects.find(({ kind }) => kind === 'Deployment') as Deployment | undefined;
  return deployment?.spec?.template.spec?.containers[0]?.args ?? [];
};

describe('objectsFor a router with ingress-nginx', () => {
  it('gives each router its own ConfigMap, lease and controller name', () => {
    const objects = objectsFor(router('hangzhou'), 'tidegate');
    expect(names(objects)).toEqual([
      'ConfigMap ingress-nginx/tidegate-router-hangzhou',
      'Service ingress-nginx/tidegate-router-hangzhou',
      'Deployment ingress-nginx/tidegate-router-hangzhou',
    ]);
    expect(argumentsOf(objects)).toEqual([
      '/nginx-ingress-controller',
      '--election-id=tidegate-router-hangzhou',
      '--controller-class=ingress-nginx.tidegate.io/hangzhou',
      '--ingress-class=hangzhou',
      '--watch-ingress-without-class=false',
      '--configmap=$(POD_NAMESPACE)/tidegate-router-hangzhou',
      '--http-port=8080',
      '--https-port=8443',
      '--healthz-port=10254',
    ]);
  });

  it('uses the account that the administrator provides, and grants nothing', () => {
    const objects = objectsFor(router('hangzhou'), 'tidegate');
    const deployment = objects.find(({ kind }) => kind === 'Deployment') as Deployment | undefined;
    expect(deployment?.spec?.template.spec?.serviceAccountName).toBe('tidegate-ingress-nginx');
    expect(objects.filter(({ apiVersion }) => apiVersion.startsWith('rbac.'))).toEqual([]);
  });

  it('publishes the addresses of the router', () => {
    expect(argumentsOf(objectsFor(router('a', undefined, ['192.0.2.1', '192.0.2.2']), 'x'))).toContain(
      '--publish-status-address=192.0.2.1,192.0.2.2',
    );
  });

  it('shares no objects with the router of another pool', () => {
    const [a, b] = ['hangzhou', 'beijing'].map((name) => new Set(names(objectsFor(router(name), 'x'))));
    expect([...a!].filter((name) => b!.has(name))).toEqual([]);
  });

  it("replaces Tidegate's own router in one rollout and keeps the Service", () => {
    const kept = new Set(names(objectsFor(router('hangzhou', 'nginx'), 'x')));
    expect(names(objectsFor(router('hangzhou'), 'x')).filter((name) => kept.has(name))).toEqual([
      'Service ingress-nginx/tidegate-router-hangzhou',
      'Deployment ingress-nginx/tidegate-router-hangzhou',
    ]);
  });
});
