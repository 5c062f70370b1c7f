/** What must hold for every application, and what other implementations got wrong. Golden files show the rest. */

import type { KubeObject } from '@tidegate/kube';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { EdgeApplication, Overriders, TargetNodeGroup, TargetNodeLabels } from '../../api/index.ts';
import { read } from '../json.ts';
import { validateEdgeApplication } from '../validate.ts';
import { identityOf } from './collisions.ts';
import { editionName } from './names.ts';
import { render } from './render.ts';
import type { RenderResult } from './result.ts';
import { builtInScopes } from './scopes.ts';
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
const renderAll = (written: EdgeApplication): RenderResult =>
  render(written, targetsOf(written, everyPoolIsNodeGroup).targets, builtInScopes);
const objectsOf = (written: EdgeApplication): KubeObject[] =>
  renderAll(written).objects.map(({ object }) => object);
const namesOf = (written: EdgeApplication): unknown[] =>
  objectsOf(written).map(({ metadata }) => metadata.name);

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
const configMap = (name: string): object => ({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name } });

describe('every application', () => {
  const overriders: fc.Arbitrary<Overriders> = fc.record(
    {
      replicas: fc.nat({ max: 3 }),
      imageOverriders: fc.array(
        fc.record({
          component: fc.constantFrom('Registry', 'tag', 'Repository'),
          operator: fc.constantFrom('add', 'replace', 'remove'),
          value: fc.constantFrom('r.io', 'v2', '-x', '/sub', ''),
        }),
        { maxLength: 2 },
      ) as fc.Arbitrary<NonNullable<Overriders['imageOverriders']>>,
      envOverriders: fc.array(
        fc.record({
          containerName: fc.constantFrom('c', 'none'),
          operator: fc.constantFrom('add', 'replace', 'remove'),
          value: fc.uniqueArray(
            fc.constantFrom('A', 'B').map((name) => ({ name })),
            { selector: ({ name }) => name },
          ),
        }),
        { maxLength: 2 },
      ),
    },
    { requiredKeys: [] },
  );
  const targets = fc.uniqueArray(fc.record({ name: fc.constantFrom('a', 'b', 'a-b', 'c'), overriders }), {
    selector: ({ name }) => name,
  });
  const manifest = fc.oneof(
    fc
      .record({ name: fc.constantFrom('x', 'x-a', 'y'), kind: fc.constantFrom('Deployment', 'DaemonSet') })
      .map(({ name, kind }) => workload(name, {}, kind)),
    fc.constantFrom('m', 'n').map(configMap),
    fc.constant({ kind: 'Broken' }),
  );
  const written = fc
    .record({ manifests: fc.array(manifest, { maxLength: 5 }), targets })
    .map((parts) => parts);
  const byIdentity = ({ objects }: RenderResult): Map<string, string> =>
    new Map(objects.map(({ object }) => [identityOf(object), JSON.stringify(object)]));

  it('renders to the same bytes twice', () => {
    fc.assert(
      fc.property(written, ({ manifests, targets }) => {
        const one = application(manifests, targets);
        expect(JSON.stringify(renderAll(structuredClone(one)))).toBe(JSON.stringify(renderAll(one)));
      }),
    );
  });

  it('renders to the same objects in whatever order its manifests are', () => {
    fc.assert(
      fc.property(written, fc.infiniteStream(fc.nat()), ({ manifests, targets }, order) => {
        const shuffled = manifests
          .map((manifest) => ({ manifest, place: order.next().value ?? 0 }))
          .toSorted((a, b) => a.place - b.place)
          .map(({ manifest }) => manifest);
        expect(byIdentity(renderAll(application(shuffled, targets)))).toEqual(
          byIdentity(renderAll(application(manifests, targets))),
        );
      }),
    );
  });

  it('has editions that do not depend on what is different in other pools', () => {
    fc.assert(
      fc.property(written, overriders, ({ manifests, targets }, others) => {
        fc.pre(targets.length > 1);
        const [first, ...rest] = targets;
        const changed = [first!, ...rest.map(({ name }) => ({ name, overriders: others }))];
        const editionsOf = (all: TargetNodeGroup[]): string[] =>
          // Of names that collide with those of another pool neither is made, which is another thing.
          renderAll(application(manifests, all))
            .objects.filter(({ edition }) => edition === first!.name)
            .map(({ object }) => JSON.stringify(object));
        const collides = ({ errors }: RenderResult) =>
          errors.some(({ message }) => message.includes('is also made of'));
        fc.pre(!collides(renderAll(application(manifests, targets))));
        fc.pre(!collides(renderAll(application(manifests, changed))));
        expect(editionsOf(changed)).toEqual(editionsOf(targets));
      }),
    );
  });

  it('leaves what it is made of as it was', () => {
    fc.assert(
      fc.property(written, ({ manifests, targets }) => {
        const one = application(manifests, targets);
        const before = JSON.stringify(one);
        renderAll(one);
        expect(JSON.stringify(one)).toBe(before);
      }),
    );
  });
});

describe('what went wrong elsewhere', () => {
  const podSpec = (object: KubeObject | undefined, ...path: string[]): unknown =>
    read(object, ['spec', 'template', 'spec', ...path]);

  it('a manifest without a namespace is put into that of the application (kubeedge: into none)', () => {
    expect(objectsOf(application([configMap('m')]))[0]?.metadata.namespace).toBe('shop');
  });

  it('the node selector of the template stays (kubeedge #7197)', () => {
    const [object] = objectsOf(application([workload('d', { nodeSelector: { disk: 'ssd' } })]));
    expect(podSpec(object, 'nodeSelector')).toEqual({ disk: 'ssd', 'apps.kubeedge.io/belonging-to': 'east' });
  });

  it('a template that is bound to another pool is an error, not overruled', () => {
    const bound = workload('d', { nodeSelector: { 'apps.kubeedge.io/belonging-to': 'west' } });
    expect(renderAll(application([bound]))).toMatchObject({
      objects: [],
      errors: [
        {
          path: 'spec.workloadTemplate.manifests[0].spec.template.spec.nodeSelector.apps.kubeedge.io/belonging-to',
          ordinal: 0,
          edition: 'east',
        },
      ],
    });
  });

  it('labels of nodes come in one order, whatever order they are written in (kubeedge: at random)', () => {
    const target = (matchLabels: Record<string, string>): TargetNodeLabels[] => [
      { labelSelector: { matchLabels } },
    ];
    const one = objectsOf(application([workload('d')], [], target({ a: '1', b: '2', c: '3' })));
    const other = objectsOf(application([workload('d')], [], target({ c: '3', a: '1', b: '2' })));
    expect(JSON.stringify(other)).toBe(JSON.stringify(one));
  });

  it('matchExpressions place pods and name the edition too (kubeedge: ignored)', () => {
    const labelSelector = { matchExpressions: [{ key: 'gpu', operator: 'Exists' }] };
    const [object] = objectsOf(application([workload('d')], [], [{ labelSelector }]));
    expect(object?.metadata.name).toMatch(/^d-ls-[0-9a-f]{8}$/);
    expect(JSON.stringify(podSpec(object, 'affinity'))).toContain('{"key":"gpu","operator":"Exists"}');
  });

  it('editions do not select the pods of each other (kubeedge: they share a selector)', () => {
    const [east, west] = objectsOf(application([workload('d')], [{ name: 'east' }, { name: 'west' }]));
    const labels = (object: KubeObject | undefined) =>
      read(object, ['spec', 'template', 'metadata', 'labels']);
    const selector = (object: KubeObject | undefined) => read(object, ['spec', 'selector', 'matchLabels']);
    expect(labels(east)).toMatchObject(selector(east) as object);
    expect(labels(west)).not.toMatchObject(selector(east) as object);
    expect(labels(west)).toMatchObject({ app: 'd' });
  });

  it.each(['StatefulSet', 'DaemonSet', 'ReplicaSet'])(
    '%s has editions too (kubeedge #4387, #7281)',
    (kind) => {
      expect(namesOf(application([workload('w', {}, kind)]))).toEqual(['w-east']);
    },
  );

  it('names that are too long are cut and stay distinct', () => {
    const name = 'n'.repeat(50);
    const names = namesOf(
      application([workload(name, {}, 'StatefulSet')], [{ name: 'east' }, { name: 'eastern' }]),
    ) as string[];
    expect(new Set(names).size).toBe(2);
    for (const one of names) expect(one).toMatch(/^n{43}-[0-9a-f]{8}$/);
  });

  it('a cut never ends in what a name can not end in', () => {
    fc.assert(
      fc.property(
        fc.stringMatching(/^[a-z]([a-z.-]{0,200}[a-z])?$/),
        fc.constantFrom(52, 63, 253),
        (name, longest) => {
          const cut = editionName(name, 'east', longest);
          expect(cut.length).toBeLessThanOrEqual(longest);
          expect(cut).toMatch(/[a-z0-9]$/);
        },
      ),
    );
  });

  it('two manifests that would become one object are both refused', () => {
    const both = renderAll(application([workload('w'), workload('w-a')], [{ name: 'a-b' }, { name: 'b' }]));
    expect(both.objects.map(({ object }) => object.metadata.name)).toEqual(['w-a-a-b', 'w-b']);
    expect(both.errors.map(({ message }) => message)).toEqual([
      'Deployment w-a-b is also made of spec.workloadTemplate.manifests[1]: choose another name',
      'Deployment w-a-b is also made of spec.workloadTemplate.manifests[0]: choose another name',
    ]);
  });

  it('a pool that is named twice is an error (kubeedge #4860, #5497)', () => {
    expect(validateEdgeApplication(application([workload('w')], [{ name: 'a' }, { name: 'a' }]))).toEqual([
      {
        path: 'spec.workloadScope.targetNodeGroups[1]',
        message: 'the same nodes as spec.workloadScope.targetNodeGroups[0]: leave one of them out',
      },
    ]);
  });

  it('a whole image can be given by a patch (kubeedge #4861)', () => {
    const patch = [{ op: 'replace', path: '/spec/template/spec/containers/0/image', value: 'other:2' }];
    const [object] = objectsOf(
      application([workload('w')], [{ name: 'a', overriders: { patchOverriders: [{ patch }] } }]),
    );
    expect(podSpec(object, 'containers', '0', 'image')).toBe('other:2');
  });

  it('a name that is too long for a label is told before anything is made', () => {
    const long = application([configMap('m')]);
    long.metadata.name = 'a'.repeat(64);
    expect(validateEdgeApplication(long)).toMatchObject([{ path: 'metadata.name' }]);
    expect(objectsOf(long)).toEqual([]);
  });

  it('without targets workloads are nowhere, and the rest is there', () => {
    expect(namesOf(application([workload('w'), configMap('m')], []))).toEqual(['m']);
  });

  it('what the server wrote into a copied manifest is left out', () => {
    const copied = {
      ...configMap('m'),
      metadata: { name: 'm', uid: 'u', resourceVersion: '1', creationTimestamp: null, managedFields: [] },
      status: {},
    };
    const [object] = objectsOf(application([copied]));
    expect(Object.keys(object!.metadata).toSorted()).toEqual(['labels', 'name', 'namespace']);
    expect(object).not.toHaveProperty('status');
  });
});
