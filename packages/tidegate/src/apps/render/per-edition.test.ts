import { expect, it } from 'vitest';
import type { EdgeApplication, Overriders } from '../../api/index.ts';
import { render } from './render.ts';
import { builtInScopes } from './scopes.ts';
import { everyPoolIsNodeGroup, targetsOf } from './targets.ts';

const workload = {
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'web' },
  spec: {
    replicas: 2,
    selector: { matchLabels: { app: 'web' } },
    template: { metadata: { labels: { app: 'web' } }, spec: { containers: [{ name: 'c', image: 'i' }] } },
  },
};
const autoscaler = {
  apiVersion: 'autoscaling/v2',
  kind: 'HorizontalPodAutoscaler',
  metadata: { name: 'scaler' },
  spec: { maxReplicas: 3, scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'web' } },
};
const settings = (editions?: string) => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: {
    name: 'settings',
    ...(editions && { annotations: { 'apps.tidegate.io/editions': editions } }),
  },
});
const rendering = (manifests: object[], overriders: Overriders = {}) => {
  const application = {
    apiVersion: 'apps.kubeedge.io/v1alpha1',
    kind: 'EdgeApplication',
    metadata: { name: 'shop', namespace: 'shop' },
    spec: {
      workloadTemplate: { manifests },
      workloadScope: { targetNodeGroups: [{ name: 'a', overriders }] },
    },
  } as EdgeApplication;
  const { objects, errors } = render(
    application,
    targetsOf(application, everyPoolIsNodeGroup).targets,
    builtInScopes,
  );
  return {
    names: objects.map(({ object }) => `${object.kind} ${object.metadata.name}`).toSorted(),
    objects: objects.map(({ object }) => object),
    errors: errors.map(({ path, message }) => `${path}: ${message}`),
  };
};

it('renders an autoscaler for each target, and leaves the replicas to it', () => {
  const { names, objects } = rendering([workload, autoscaler]);
  expect(names).toEqual(['Deployment web-a', 'HorizontalPodAutoscaler scaler-a']);
  expect(objects.find(({ kind }) => kind === 'Deployment')?.spec).not.toHaveProperty('replicas');
});

it('refuses replicas of a workload that an autoscaler scales', () => {
  expect(rendering([workload, autoscaler], { replicas: 4 }).errors).toEqual([
    expect.stringContaining(
      'overriders.replicas: Deployment web: HorizontalPodAutoscaler scaler decides the replicas',
    ),
  ]);
});

it('renders an autoscaler of a workload outside of the application once', () => {
  const spec = { ...autoscaler.spec, scaleTargetRef: { kind: 'Deployment', name: 'other' } };
  expect(rendering([workload, { ...autoscaler, spec }]).names).toContain('HorizontalPodAutoscaler scaler');
});

it('renders other objects as the annotation says, which is not part of the object', () => {
  expect(rendering([settings()]).names).toEqual(['ConfigMap settings']);
  const { names, objects } = rendering([settings('each')]);
  expect(names).toEqual(['ConfigMap settings-a']);
  expect(objects[0]?.metadata).not.toHaveProperty('annotations');
  expect(rendering([settings('sometimes')]).errors).toEqual([
    'spec.workloadTemplate.manifests[0].metadata.annotations.apps.tidegate.io/editions: unsupported value; supported values: each, once',
  ]);
});

it('names the annotation if a patch is for an object without editions', () => {
  const patchOverriders = [{ target: { kind: 'ConfigMap' }, patch: [] }];
  const { errors } = rendering([workload, settings()], { patchOverriders });
  expect(errors).toEqual([expect.stringContaining('annotation apps.tidegate.io/editions: each')]);
});

it('applies a patch without a kind to workloads only', () => {
  const patch = [{ op: 'add', path: '/spec/paused', value: true }];
  const { objects, errors } = rendering([workload, settings('each')], { patchOverriders: [{ patch }] });
  expect(errors).toEqual([]);
  expect(objects.find(({ kind }) => kind === 'ConfigMap')).not.toHaveProperty('spec');
});
