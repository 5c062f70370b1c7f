/** Properties of every application, and cases that other implementations got wrong. Golden files show the rest. */

import type { KubeObject } from '@tidegate/kube';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { EdgeApplication, Overriders, TargetNodeGroup, TargetNodeLabels } from '../../api/index.ts';
import { read } from '../json.ts';
import { validateEdgeApplication } from '../validate.ts';
import { identityOf } from './collisions.ts';
import { nameIn } from './names.ts';
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

  it('renders the same bytes twice', () => {
    fc.assert(
      fc.property(written, ({ manifests, targets }) => {
        const one = application(manifests, targets);
        expect(JSON.stringify(renderAll(structuredClone(one)))).toBe(JSON.stringify(renderAll(one)));
      }),
    );
  });

  it('renders the same objects for any order of manifests', () => {
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

  it('has editions that do not depend on the overriders of other pools', () => {
    fc.assert(
      fc.property(written, overriders, ({ manifests, targets }, others) => {
        fc.pre(targets.length > 1);
        const [first, ...rest] = targets;
        const changed = [first!, ...rest.map(({ name }) => ({ name, overriders: others }))];
        const editionsOf = (all: TargetNodeGroup[]): string[] =>
          renderAll(application(manifests, all))
            .objects.filter(({ edition }) => edition === first!.name)
            .map(({ object }) => JSON.stringify(object));
        // Two editions with the same name are both dropped, and a change in one pool can cause that. Not tested here.
        const collides = ({ errors }: RenderResult) =>
          errors.some(({ message }) => message.includes('is also rendered from'));
        fc.pre(!collides(renderAll(application(manifests, targets))));
        fc.pre(!collides(renderAll(application(manifests, changed))));
        expect(editionsOf(changed)).toEqual(editionsOf(targets));
      }),
    );
  });

  it('does not change its input', () => {
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

describe('cases that other implementations got wrong', () => {
  const podSpec = (object: KubeObject | undefined, ...path: string[]): unknown =>
    read(object, ['spec', 'template', 'spec', ...path]);

  it('sets a missing namespace to that of the application (kubeedge: leaves it empty)', () => {
    expect(objectsOf(application([configMap('m')]))[0]?.metadata.namespace).toBe('shop');
  });

  it('keeps the node selector of the template (kubeedge #7197)', () => {
    const [object] = objectsOf(application([workload('d', { nodeSelector: { disk: 'ssd' } })]));
    expect(podSpec(object, 'nodeSelector')).toEqual({ disk: 'ssd', 'apps.kubeedge.io/belonging-to': 'east' });
  });

  it('rejects a template that is bound to another pool', () => {
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

  it('sorts the labels of nodes (kubeedge: random order)', () => {
    const target = (matchLabels: Record<string, string>): TargetNodeLabels[] => [
      { labelSelector: { matchLabels } },
    ];
    const one = objectsOf(application([workload('d')], [], target({ a: '1', b: '2', c: '3' })));
    const other = objectsOf(application([workload('d')], [], target({ c: '3', a: '1', b: '2' })));
    expect(JSON.stringify(other)).toBe(JSON.stringify(one));
  });

  it('uses matchExpressions for placement and for the name of the edition (kubeedge: ignored)', () => {
    const labelSelector = { matchExpressions: [{ key: 'gpu', operator: 'Exists' }] };
    const [object] = objectsOf(application([workload('d')], [], [{ labelSelector }]));
    expect(object?.metadata.name).toMatch(/^d-ls-[0-9a-f]{8}$/);
    expect(JSON.stringify(podSpec(object, 'affinity'))).toContain('{"key":"gpu","operator":"Exists"}');
  });

  it('gives each edition its own selector (kubeedge: they share a selector)', () => {
    const [east, west] = objectsOf(application([workload('d')], [{ name: 'east' }, { name: 'west' }]));
    const labels = (object: KubeObject | undefined) =>
      read(object, ['spec', 'template', 'metadata', 'labels']);
    const selector = (object: KubeObject | undefined) => read(object, ['spec', 'selector', 'matchLabels']);
    expect(labels(east)).toMatchObject(selector(east) as object);
    expect(labels(west)).not.toMatchObject(selector(east) as object);
    expect(labels(west)).toMatchObject({ app: 'd' });
  });

  it.each(['StatefulSet', 'DaemonSet', 'ReplicaSet'])(
    'renders editions of a %s (kubeedge #4387, #7281)',
    (kind) => {
      expect(namesOf(application([workload('w', {}, kind)]))).toEqual(['w-east']);
    },
  );

  it('shortens names that are too long, and keeps them distinct', () => {
    const name = 'n'.repeat(50);
    const names = namesOf(
      application([workload(name, {}, 'StatefulSet')], [{ name: 'east' }, { name: 'eastern' }]),
    ) as string[];
    expect(new Set(names).size).toBe(2);
    for (const one of names) expect(one).toMatch(/^n{43}-[0-9a-f]{8}$/);
  });

  it('never shortens a name to one that is not valid', () => {
    fc.assert(
      fc.property(
        fc.stringMatching(/^[a-z]([a-z.-]{0,200}[a-z])?$/),
        fc.constantFrom(52, 63, 253),
        (name, longest) => {
          const cut = nameIn({ edition: 'east' }, name, longest);
          expect(cut.length).toBeLessThanOrEqual(longest);
          expect(cut).toMatch(/[a-z0-9]$/);
        },
      ),
    );
  });

  it('rejects both of two manifests that render the same object', () => {
    const both = renderAll(application([workload('w'), workload('w-a')], [{ name: 'a-b' }, { name: 'b' }]));
    expect(both.objects.map(({ object }) => object.metadata.name)).toEqual(['w-a-a-b', 'w-b']);
    expect(both.errors.map(({ message }) => message)).toEqual([
      'Deployment w-a-b is also rendered from spec.workloadTemplate.manifests[1]: choose another name',
      'Deployment w-a-b is also rendered from spec.workloadTemplate.manifests[0]: choose another name',
    ]);
  });

  it('rejects a pool that is listed twice (kubeedge #4860, #5497)', async () => {
    expect(
      await validateEdgeApplication(application([workload('w')], [{ name: 'a' }, { name: 'a' }])),
    ).toEqual([
      {
        path: 'spec.workloadScope.targetNodeGroups[1]',
        message: 'selects the same nodes as spec.workloadScope.targetNodeGroups[0]: remove one of them',
      },
    ]);
  });

  it('replaces a whole image with a patch (kubeedge #4861)', () => {
    const patch = [{ op: 'replace', path: '/spec/template/spec/containers/0/image', value: 'other:2' }];
    const [object] = objectsOf(
      application([workload('w')], [{ name: 'a', overriders: { patchOverriders: [{ patch }] } }]),
    );
    expect(podSpec(object, 'containers', '0', 'image')).toBe('other:2');
  });

  it('rejects a name that is too long for a label, and renders nothing', async () => {
    const long = application([configMap('m')]);
    long.metadata.name = 'a'.repeat(64);
    expect(await validateEdgeApplication(long)).toMatchObject([{ path: 'metadata.name' }]);
    expect(objectsOf(long)).toEqual([]);
  });

  it('renders no workloads without targets, but all other objects', () => {
    expect(namesOf(application([workload('w'), configMap('m')], []))).toEqual(['m']);
  });

  it('removes fields of the server from a copied manifest', () => {
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

it.each([
  ['apps.kubeedge.io/v1alpha1', 'EdgeApplication'],
  ['apps.openyurt.io/v1beta1', 'YurtAppSet'],
  ['apps.openyurt.io/v1alpha1', 'YurtAppSet'],
  ['apps.openyurt.io/v1alpha1', 'YurtAppDaemon'],
  ['apps.openyurt.io/v1alpha1', 'YurtAppOverrider'],
  ['certificates.k8s.io/v1', 'CertificateSigningRequest'],
  ['certificates.k8s.io/v1beta1', 'ClusterTrustBundle'],
])(
  'does not render a manifest of %s %s, which would have the permissions of the manager',
  (apiVersion, kind) => {
    const { objects, errors } = renderAll(
      application([{ apiVersion, kind, metadata: { name: 'x' } }, configMap('m')]),
    );
    expect(objects.map(({ object }) => object.kind)).toEqual(['ConfigMap']);
    expect(errors).toMatchObject([
      {
        path: 'spec.workloadTemplate.manifests[0].kind',
        message: expect.stringContaining(`kind ${kind} is not allowed in an application`),
      },
    ]);
  },
);
