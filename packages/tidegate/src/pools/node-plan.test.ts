import type { Node } from '@tidegate/kube';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  NODE_GROUP_LABEL,
  NODE_POOL_LABEL,
  OPENYURT_WRITTEN_ANNOTATION,
  type Taint,
  WRITTEN_ANNOTATION,
  ZONE_LABEL,
} from '../api/index.ts';
import type { Attributes } from './attribute-record.ts';
import { desiredAttributes } from './desired-attributes.ts';
import { planNode } from './node-plan.ts';
import { group, node, pool } from './testing/objects.ts';

/** Applies a merge patch as the API server does. */
function patched(object: Node, patch: Record<string, unknown> | undefined): Node {
  const { metadata = {}, spec } = (patch ?? {}) as {
    metadata?: Record<'labels' | 'annotations', Record<string, string | null> | undefined>;
    spec?: { taints: Taint[] };
  };
  const merged = (
    old: Record<string, string> | undefined,
    change: Record<string, string | null> | undefined,
  ) =>
    Object.fromEntries(
      Object.entries({ ...old, ...change }).filter((entry): entry is [string, string] => entry[1] !== null),
    );
  const { labels, annotations } = metadata as Record<string, Record<string, string | null> | undefined>;
  return {
    ...object,
    metadata: {
      ...object.metadata,
      labels: merged(object.metadata.labels, labels),
      annotations: merged(object.metadata.annotations, annotations),
    },
    spec: { ...object.spec, taints: spec?.taints ?? object.spec?.taints ?? [] },
  };
}
const follow = (object: Node, want: Attributes): Node => patched(object, planNode(object, want).patch);
const nothing = desiredAttributes(undefined, undefined);

describe('planNode', () => {
  const words = fc.dictionary(fc.constantFrom('a', 'b', 'c'), fc.constantFrom('1', '2'));
  const taints = fc.uniqueArray(
    fc.record({
      key: fc.constantFrom('a', 'b'),
      value: fc.constantFrom('1', '2'),
      effect: fc.constant('NoSchedule'),
    }),
    { selector: ({ key }) => key },
  );
  const anyPool = fc.record({ labels: words, annotations: words, taints }).map((spec) => pool('p', spec));

  it('removes exactly what it set, whatever pools a node was in between', () => {
    fc.assert(
      fc.property(
        words,
        words,
        taints,
        fc.array(anyPool, { maxLength: 4 }),
        (labels, annotations, own, pools) => {
          const before = node('n', labels, { annotations, taints: own });
          const after = [...pools.map((p) => desiredAttributes(p, group('g', {}))), nothing].reduce(
            follow,
            before,
          );
          expect(after.metadata.labels).toEqual(labels);
          expect(after.metadata.annotations).toEqual(annotations);
          expect(after.spec?.taints).toEqual(own);
        },
      ),
    );
  });

  it('plans no change for a node that is up to date', () => {
    fc.assert(
      fc.property(words, anyPool, (labels, p) => {
        const want = desiredAttributes(p, group('g', { topologyEnabled: true }));
        expect(planNode(follow(node('n', labels), want), want).patch).toBeUndefined();
      }),
    );
  });

  it('moves a node between groups in one patch with its resource version', () => {
    const inA = follow(node('n'), desiredAttributes(undefined, group('a', { topologyEnabled: true })));
    inA.metadata.resourceVersion = '7';
    const { patch } = planNode(inA, desiredAttributes(undefined, group('b', {})));
    expect(patch).toMatchObject({
      metadata: { resourceVersion: '7', labels: { [NODE_GROUP_LABEL]: 'b', [ZONE_LABEL]: null } },
    });
  });

  it('keeps and reports values that other clients set or changed', () => {
    const want = desiredAttributes(pool('p', { labels: { region: 'east' } }), undefined);
    const changed = follow(node('n', { [NODE_POOL_LABEL]: 'p' }), want);
    changed.metadata.labels!.region = 'mine';
    const { patch, kept } = planNode(changed, want);
    expect(kept).toEqual(['label region']);
    expect(patched(changed, patch).metadata.labels).toEqual({ [NODE_POOL_LABEL]: 'p', region: 'mine' });
    expect(follow(changed, nothing).metadata.labels).toEqual({ [NODE_POOL_LABEL]: 'p', region: 'mine' });
  });

  it('keeps a zone that the cloud provider set', () => {
    const want = desiredAttributes(undefined, group('g', { topologyEnabled: true }));
    const after = follow(node('n', { [ZONE_LABEL]: 'cloud' }), want);
    expect(after.metadata.labels).toEqual({ [ZONE_LABEL]: 'cloud', [NODE_GROUP_LABEL]: 'g' });
    expect(follow(after, nothing).metadata.labels).toEqual({ [ZONE_LABEL]: 'cloud' });
  });

  it('takes over what KubeEdge and OpenYurt set, and can remove it', () => {
    const theirs = node(
      'n',
      { [NODE_GROUP_LABEL]: 'g', region: 'east' },
      { annotations: { [OPENYURT_WRITTEN_ANNOTATION]: JSON.stringify({ labels: { region: 'east' } }) } },
    );
    const adopted = follow(
      theirs,
      desiredAttributes(pool('p', { labels: { region: 'east' } }), group('g', {})),
    );
    expect(Object.keys(adopted.metadata.annotations ?? {})).toEqual([WRITTEN_ANNOTATION]);
    expect(follow(adopted, nothing).metadata.labels).toEqual({});
  });

  it('treats an invalid record as empty', () => {
    const strange = node('n', { region: 'east' }, { annotations: { [WRITTEN_ANNOTATION]: 'not JSON' } });
    expect(follow(strange, nothing).metadata.labels).toEqual({ region: 'east' });
  });

  it('leaves out entries that are not valid on a node', () => {
    const want = desiredAttributes(pool('p', { labels: { ok: 'yes', bad: 'no label value!' } }), undefined);
    expect(want.labels).toEqual({ ok: 'yes', [NODE_POOL_LABEL]: 'p' });
    expect(want.problems).toEqual([expect.stringMatching(/^label bad=no label value!: /)]);
  });
});
