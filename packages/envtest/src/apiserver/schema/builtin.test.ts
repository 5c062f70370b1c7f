import { describe, expect, it } from 'vitest';
import { builtinSchema, structOf } from './builtin.ts';

describe('builtinSchema', () => {
  it('resolves a kind down to its leaves', () => {
    const deployment = builtinSchema('apps/v1', 'Deployment');
    const podSpec = deployment.properties?.spec?.properties?.template?.properties?.spec;
    expect(podSpec?.properties?.containers).toMatchObject({
      type: 'array',
      'x-kubernetes-list-type': 'map',
      'x-kubernetes-list-map-keys': ['name'],
      'x-kubernetes-patch-merge-key': 'name',
      'x-kubernetes-patch-strategy': 'merge',
    });
    const container = podSpec?.properties?.containers?.items;
    expect(container?.properties?.ports?.items?.properties?.protocol?.default).toBe('TCP');
    expect(container?.properties?.resources?.properties?.limits?.additionalProperties).toEqual({
      format: 'quantity',
    });
    expect(deployment.properties?.spec?.properties?.replicas).toEqual({ type: 'integer', format: 'int32' });
    expect(deployment.properties?.spec?.required).toEqual(['selector', 'template']);
  });

  it('shares one graph between kinds', () => {
    const inDeployment = builtinSchema('apps/v1', 'Deployment').properties?.spec?.properties?.template;
    const inJob = builtinSchema('batch/v1', 'Job').properties?.spec?.properties?.template;
    expect(inDeployment).toBe(inJob);
    expect(structOf(inJob ?? {})?.definition).toBe('io.k8s.api.core.v1.PodTemplateSpec');
  });

  it('keeps keywords that a field adds to its type', () => {
    const strategy = builtinSchema('apps/v1', 'Deployment').properties?.spec?.properties?.strategy;
    expect(strategy?.['x-kubernetes-patch-strategy']).toBe('retainKeys');
    expect(structOf(strategy ?? {})?.name).toBe('DeploymentStrategy');
  });

  it('supports recursive types', () => {
    const version = builtinSchema('apiextensions.k8s.io/v1', 'CustomResourceDefinition').properties?.spec
      ?.properties?.versions?.items;
    const schema = version?.properties?.schema?.properties?.openAPIV3Schema;
    expect(schema?.properties?.not).toBe(schema);
    expect(schema?.properties?.maxLength).toEqual({ type: 'integer', format: 'int64' });
  });

  it('reports a kind that does not exist', () => {
    expect(() => builtinSchema('storage.k8s.io/v1', 'Nothing')).toThrow(/schema-facts/);
  });
});
