import { NODE_POOLS, type NodePool, type Taint } from '../../api/index.ts';
import { type Membership, validateDelete } from '../../pools/index.ts';
import type { AdmissionResult, FieldProblem } from '../review.ts';
import type { AdmissionRule } from '../rule.ts';
import { changedSpec } from './changed-spec.ts';
import { annotationProblems, isEmptySelector, labelProblems, selectorProblems } from './fields.ts';
import { nodeAddressProblems } from './node-addresses.ts';

export const nodePoolRule = (membership: Pick<Membership, 'nodesOf'>): AdmissionRule => ({
  group: NODE_POOLS.group,
  versions: ['v1alpha1', 'v1beta1', 'v1beta2'],
  resource: NODE_POOLS.resource,
  scope: 'Cluster',
  operations: ['CREATE', 'UPDATE', 'DELETE'],
  // A finalizer keeps a pool that still has nodes, and the schema already rejects everything that would do harm.
  failurePolicy: 'Ignore',
  evaluate(request) {
    if (request.operation === 'DELETE') {
      const name = request.name ?? '';
      const reason = validateDelete('NodePool', membership.nodesOf('NodePool', name));
      return reason === undefined ? {} : { forbidden: `NodePool ${name} cannot be deleted: ${reason}` };
    }
    const spec = changedSpec<NodePool['spec']>(request);
    const result: AdmissionResult = spec === undefined ? {} : checkSpec(spec);
    const addresses = nodeAddressProblems(request);
    return addresses.length === 0
      ? result
      : { ...result, problems: [...(result.problems ?? []), ...addresses] };
  },
});

const checkSpec = ({
  labels,
  annotations,
  taints = [],
  selector,
}: NonNullable<NodePool['spec']>): AdmissionResult => ({
  problems: [
    ...labelProblems('spec.labels', labels),
    ...annotationProblems('spec.annotations', annotations),
    ...taintProblems(taints),
    ...selectorProblems('spec.selector', selector),
  ],
  warnings: isEmptySelector(selector)
    ? [
        'spec.selector: an empty selector selects no nodes; set matchLabels or matchExpressions, or label the nodes',
      ]
    : [],
});

function taintProblems(taints: readonly Taint[]): FieldProblem[] {
  const first = new Map<string, number>();
  return taints.flatMap(({ key, value = '', effect }, index) => {
    const path = `spec.taints[${index}]`;
    const identity = JSON.stringify([key, effect]);
    const duplicateOf = first.get(identity);
    if (duplicateOf === undefined) first.set(identity, index);
    const message = `duplicate of spec.taints[${duplicateOf}]: a node can have one taint per key and effect; remove one of them`;
    return [
      ...labelProblems(path, { [key]: value }),
      ...(duplicateOf === undefined ? [] : [{ path, message }]),
    ];
  });
}
