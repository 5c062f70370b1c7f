import { NODE_POOLS, type NodePool, type Taint } from '../../api/index.ts';
import { type Membership, validateDelete } from '../../pools/index.ts';
import type { Problem, Verdict } from '../review.ts';
import type { AdmissionRule } from '../rule.ts';
import { annotationProblems, isEmptySelector, labelProblems, selectorProblems } from './fields.ts';
import { specToJudge } from './spec-to-judge.ts';

export const nodePoolRule = (membership: Pick<Membership, 'nodesOf'>): AdmissionRule => ({
  group: NODE_POOLS.group,
  versions: ['v1alpha1', 'v1beta1', 'v1beta2'],
  resource: NODE_POOLS.resource,
  scope: 'Cluster',
  operations: ['CREATE', 'UPDATE', 'DELETE'],
  // A finalizer holds a pool that still has nodes, and the schema has refused what would do harm.
  failurePolicy: 'Ignore',
  judge(request) {
    if (request.operation === 'DELETE') {
      const name = request.name ?? '';
      const held = validateDelete('NodePool', membership.nodesOf('NodePool', name));
      return held === undefined ? {} : { forbidden: `NodePool ${name} can not be deleted: ${held}` };
    }
    const spec = specToJudge<NodePool['spec']>(request);
    return spec === undefined ? {} : judgeSpec(spec);
  },
});

const judgeSpec = ({
  labels,
  annotations,
  taints = [],
  selector,
}: NonNullable<NodePool['spec']>): Verdict => ({
  problems: [
    ...labelProblems('spec.labels', labels),
    ...annotationProblems('spec.annotations', annotations),
    ...taints.flatMap((taint, index) =>
      taintProblems(taint, taints.slice(0, index), `spec.taints[${index}]`),
    ),
    ...selectorProblems('spec.selector', selector),
  ],
  warnings: isEmptySelector(selector)
    ? ['spec.selector: an empty selector chooses no node; label the nodes, or give matchLabels']
    : [],
});

function taintProblems(taint: Taint, before: readonly Taint[], path: string): Problem[] {
  const { key, value = '', effect } = taint;
  const twin = before.findIndex((other) => other.key === key && other.effect === effect);
  return [
    ...labelProblems(path, { [key]: value }),
    ...(twin < 0
      ? []
      : [{ path, message: `a node has one taint for a key and an effect: spec.taints[${twin}] is another` }]),
  ];
}
