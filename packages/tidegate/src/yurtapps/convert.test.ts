import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import type { NodePool, YurtAppSet } from '../api/index.ts';
import { builtInScopes, render, targetsOf } from '../apps/index.ts';
import { applicationOf } from './application.ts';
import { convertYurtAppSet } from './convert.ts';
import { translate } from './translate.ts';

const objectsIn = (file: string) =>
  parseAllDocuments(readFileSync(join(import.meta.dirname, 'testdata', file), 'utf8')).map(
    (document) => document.toJS() as YurtAppSet | NodePool,
  );
const appIn = (file: string): YurtAppSet =>
  objectsIn(file).find(({ kind }) => kind === 'YurtAppSet') as YurtAppSet;

/** v1beta1 has no nodes by label. */
const alpha = (): YurtAppSet => {
  const app = appIn('yurtappset-v1alpha1.in.yaml');
  const pools = app.spec?.topology?.pools?.filter(({ name }) => name !== 'gpu') ?? [];
  return { ...app, spec: { ...app.spec, topology: { pools } } };
};
const beta = (): YurtAppSet => {
  const app = appIn('yurtappset-v1beta1.in.yaml');
  const { nodepoolSelector: _, ...spec } = app.spec ?? {};
  const { workloadTweaks = [], ...workload } = spec.workload ?? {};
  return { ...app, spec: { ...spec, workload: { ...workload, workloadTweaks: workloadTweaks.slice(0, 1) } } };
};

/** The workloads that the YurtAppSet deploys. */
function workloadsOf(app: YurtAppSet): unknown[] {
  const { spec, errors } = translate(app, undefined, []);
  expect(errors).toEqual([]);
  const application = applicationOf(app, spec!);
  const { targets } = targetsOf(application, () => 'NodePool');
  return render(application, targets, builtInScopes).objects.map(({ object }) => object);
}

const converted = (app: YurtAppSet, version: 'v1alpha1' | 'v1beta1'): YurtAppSet => {
  const result = convertYurtAppSet(app, version);
  expect(result).not.toHaveProperty('message');
  return result as YurtAppSet;
};

describe('a YurtAppSet in the other version', () => {
  it.each([
    ['v1beta1', alpha],
    ['v1alpha1', beta],
  ] as const)('deploys the same workloads: %s', (version, app) => {
    const other = converted(app(), version);
    expect(other.apiVersion).toBe(`apps.openyurt.io/${version}`);
    expect(workloadsOf(other)).toEqual(workloadsOf(app()));
  });

  it('gets all its fields back', () => {
    expect(converted(converted(alpha(), 'v1beta1'), 'v1alpha1')).toEqual(alpha());
  });

  it('keeps a change that was made in v1beta1', () => {
    const changed = converted(alpha(), 'v1beta1');
    const back = converted({ ...changed, spec: { ...changed.spec, pools: ['beijing'] } }, 'v1alpha1');
    expect(back.spec?.topology?.pools?.map(({ name }) => name)).toEqual(['beijing']);
  });

  it('is refused if the version cannot express it', () => {
    expect(convertYurtAppSet(appIn('yurtappset-v1alpha1.in.yaml'), 'v1beta1')).toEqual({
      path: 'spec.topology.pools',
      message:
        'pool gpu: v1beta1 selects NodePools only: create a NodePool with these nodes, or keep v1alpha1',
    });
    expect(convertYurtAppSet(appIn('yurtappset-v1beta1.in.yaml'), 'v1alpha1')).toMatchObject({
      path: 'spec.nodepoolSelector',
    });
  });
});
