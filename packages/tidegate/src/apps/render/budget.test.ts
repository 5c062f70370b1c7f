/** Small applications that describe huge work are refused, before the work is done. */

import type { KubeObject } from '@tidegate/kube';
import { describe, expect, it } from 'vitest';
import type { EdgeApplication, Overriders, TargetNodeGroup, TargetNodeLabels } from '../../api/index.ts';
import { validateEdgeApplication } from '../validate.ts';
import { render, renderSteps } from './render.ts';
import type { RenderResult } from './result.ts';
import { builtInScopes } from './scopes.ts';
import { inSlices } from './slices.ts';
import { everyPoolIsNodeGroup, targetsOf } from './targets.ts';

const application = (
  manifests: object[],
  targetNodeGroups: TargetNodeGroup[] = [{ name: 'east' }],
  targetNodeLabels: TargetNodeLabels[] = [],
): EdgeApplication => ({
  apiVersion: 'apps.kubeedge.io/v1alpha1',
  kind: 'EdgeApplication',
  metadata: { name: 'app', namespace: 'shop' },
  spec: {
    workloadTemplate: { manifests: manifests as Record<string, unknown>[] },
    workloadScope: { targetNodeGroups, targetNodeLabels },
  },
});
const workload = (name: string, podSpec: object = {}, kind = 'Deployment'): KubeObject => ({
  apiVersion: 'apps/v1',
  kind,
  metadata: { name },
  spec: {
    selector: { matchLabels: { app: name } },
    template: {
      metadata: { labels: { app: name } },
      spec: { containers: [{ name: 'c', image: 'image:1' }], ...podSpec },
    },
  },
});

describe('an application that costs too much', () => {
  const rendered = (written: EdgeApplication): RenderResult =>
    render(written, targetsOf(written, everyPoolIsNodeGroup).targets, builtInScopes);
  const patched = (patches: object[][]): EdgeApplication =>
    application(
      [workload('w')],
      [{ name: 'east', overriders: { patchOverriders: patches.map((patch) => ({ patch })) } as Overriders }],
    );
  const doubling = (count: number, prefix = 'k'): object[] =>
    Array.from({ length: count }, (_, i) => ({ op: 'copy', from: '/spec', path: `/spec/${prefix}${i}` }));

  it('reports a patch that copies too much', () => {
    expect(rendered(patched([doubling(24)]))).toMatchObject({
      objects: [],
      errors: [
        {
          path: 'spec.workloadScope.targetNodeGroups[0].overriders.patchOverriders[0]',
          message: expect.stringMatching(
            'operation [0-9]+ of the patch: the operations of the patch copy more than 3 MiB',
          ),
        },
      ],
    });
  });

  it('reports an object that grows with several patches', () => {
    const result = rendered(patched(Array.from({ length: 40 }, (_, i) => doubling(8, `p${i}-`))));
    expect(result.objects).toEqual([]);
    expect(result.errors[0]?.message).toMatch(/3 MiB/);
  });

  it('reports an object that is too large because one rule applies to many containers', () => {
    const containers = Array.from({ length: 200 }, () => ({ name: 'c', image: 'image:1' }));
    const env = [{ name: 'A', value: 'x'.repeat(100_000) }];
    const written = application(
      [workload('w', { containers })],
      [
        {
          name: 'east',
          overriders: { envOverriders: [{ containerName: 'c', operator: 'add', value: env }] },
        },
      ],
    );
    expect(rendered(written).errors[0]?.message).toMatch('the object is larger than 3 MiB');
  });

  it('reports more objects than an application can have', () => {
    const manifests = Array.from({ length: 200 }, (_, i) => workload(`w${i}`));
    const pools = Array.from({ length: 200 }, (_, i) => ({ name: `p${i}` }));
    expect(rendered(application(manifests, pools))).toEqual({
      objects: [],
      errors: [{ path: 'spec', message: 'more than 10000 objects are rendered: split the application' }],
    });
  });

  it('reports rules that apply too often', () => {
    const containers = Array.from({ length: 1000 }, (_, i) => ({ name: `c${i}`, image: 'image:1' }));
    const imageOverriders = Array.from({ length: 10_000 }, () => ({
      component: 'Tag' as const,
      operator: 'replace' as const,
      value: '2',
    }));
    const written = application(
      [workload('w', { containers })],
      [{ name: 'east', overriders: { imageOverriders } }],
    );
    expect(rendered(written).errors[0]?.message).toMatch('cost more than 1000000 steps');
  });

  const many = <T>(count: number, item: T): T[] => Array.from({ length: count }, () => item);
  const inPools = (count: number, overriders: Overriders): TargetNodeGroup[] =>
    Array.from({ length: count }, (_, i) => ({ name: `p${i}`, overriders }));
  const newTag = { component: 'Tag' as const, operator: 'replace' as const, value: '2' };
  const unrelated = { operator: 'remove' as const, value: many(33, { key: 'b' }) };
  const addedLabel = { operator: 'add' as const, value: { a: 'b' } };
  const shifted = [
    { op: 'add', path: '/spec/list', value: many(1000, 0) },
    ...many(5000, { op: 'add', path: '/spec/list/0', value: 0 }),
    { op: 'remove', path: '/spec/list' },
  ];
  const grown = { containerName: 'c', operator: 'add' as const, value: many(100, 'x') };

  it.each<[string, object, TargetNodeGroup[]]>([
    [
      'init containers',
      { initContainers: many(8000, { image: 'a' }) },
      inPools(12, { imageOverriders: many(64, newTag) }),
    ],
    [
      'tolerations',
      { tolerations: many(3000, { key: 'a' }) },
      inPools(6, { tolerationsOverriders: many(64, unrelated) }),
    ],
    [
      'maps with many keys',
      { nodeSelector: Object.fromEntries(Array.from({ length: 20_000 }, (_, i) => [`k${i}`, 'v'])) },
      inPools(10, { labelsOverriders: many(500, addedLabel) }),
    ],
    [
      'lists that rules extend',
      { containers: many(200, { name: 'c', image: 'a' }) },
      inPools(5, { argsOverriders: many(40, grown) }),
    ],
    [
      'items that patches shift',
      {},
      inPools(20, { patchOverriders: many(20, { patch: shifted }) } as unknown as Overriders),
    ],
  ])('reports rules for too many %s', (_, podSpec, pools) => {
    expect(rendered(application([workload('w', podSpec)], pools))).toEqual({
      objects: [],
      errors: [{ path: 'spec', message: expect.stringMatching('cost more than 1000000 steps') }],
    });
  });

  it('reports node selector terms that are multiplied by the labels of nodes', () => {
    const nodeSelectorTerms = many(20_000, {});
    const affinity = {
      nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms } },
    };
    const matchLabels = Object.fromEntries(Array.from({ length: 2000 }, (_, i) => [`k${i}`, 'v']));
    const written = application([workload('w', { affinity })], [], [{ labelSelector: { matchLabels } }]);
    expect(rendered(written).errors[0]?.message).toMatch('cost more than 1000000 steps');
  });

  it('measures objects that no rule changes', () => {
    const pools = Array.from({ length: 400 }, (_, i) => ({ name: `p${i}` }));
    const written = application([workload('w', { filler: 'x'.repeat(1024 * 1024) })], pools);
    expect(rendered(written).errors[0]?.message).toMatch('larger than 256 MiB together');
  });

  it('has short messages, whatever the names in it are', async () => {
    const long = 'x'.repeat(100_000);
    const manifests = [...Array(200).keys()].map((i) =>
      workload(`w${i}`, { containers: [{ name: 'c', image: 'a', args: ['--a'] }] }),
    );
    const overriders: Overriders = {
      argsOverriders: [{ containerName: 'c', operator: 'remove', value: ['--a', long] }],
    };
    const errors = await validateEdgeApplication(application(manifests, [{ name: 'east', overriders }]));
    expect(errors).toHaveLength(200);
    expect(JSON.stringify(errors).length).toBeLessThan(200 * 1000);
    const [named] = await validateEdgeApplication(application([workload(long)]));
    expect(named).toEqual({
      path: 'spec.workloadTemplate.manifests[0].metadata.name',
      message: 'the name has 100000 characters, the limit is 253',
    });
  });

  it('reports a few of the rules that match nothing, not each for each manifest', () => {
    const manifests = [...Array(100).keys()].map((i) => workload(`w${i}`));
    const argsOverriders = many(2000, { containerName: 'other', operator: 'add' as const, value: ['x'] });
    const written = application(manifests, [{ name: 'east', overriders: { argsOverriders } }]);
    expect(rendered(written).errors.length).toBeLessThanOrEqual(100 * 10);
  });

  it('reports a manifest that is too deep', () => {
    const deep: unknown = JSON.parse(`${'{"a":'.repeat(5000)}1${'}'.repeat(5000)}`);
    expect(rendered(application([workload('w', { deep })])).errors[0]?.message).toMatch(
      'the manifest is too deep',
    );
  });

  it('lets other work run while it is rendered', async () => {
    const manifests = Array.from({ length: 20 }, (_, i) => workload(`w${i}`));
    const overriders = { labelsOverriders: [{ operator: 'add' as const, value: { a: 'b' } }] };
    const pools = Array.from({ length: 20 }, (_, i) => ({ name: `p${i}`, overriders }));
    const written = application(manifests, pools);
    let time = 0;
    let pauses = 0;
    const steps = renderSteps(written, targetsOf(written, everyPoolIsNodeGroup).targets, builtInScopes);
    const result = await inSlices(
      steps,
      async () => pauses++,
      () => time++,
    );
    expect(result).toEqual(rendered(written));
    expect(pauses).toBeGreaterThan(20);
  });
});

describe('the cost of an application', () => {
  const configMap = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'm' } };

  it('grows with its size, and not with the square, if all manifests are the same object', async () => {
    const errorsOf = (count: number) => validateEdgeApplication(application(Array(count).fill(configMap)));
    const size = async (count: number): Promise<number> => JSON.stringify(await errorsOf(count)).length;
    expect(await size(2_000)).toBeLessThan(2.5 * (await size(1_000)));
    expect((await errorsOf(5))[4]?.message).toBe(
      'ConfigMap m is also rendered from spec.workloadTemplate.manifests[0], spec.workloadTemplate.manifests[1], ' +
        'spec.workloadTemplate.manifests[2], 1 more: choose another name',
    );
  });
});
