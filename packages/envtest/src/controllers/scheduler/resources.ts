/** The resources that a pod requests and that a node offers. */
import type { Node, Pod } from '@tidegate/kube';
import { type Amounts, type PodAmounts, parseAmounts, podAmounts, sum } from '../../amounts/index.ts';

export { type Amounts as Resources, difference, ONE, sum } from '../../amounts/index.ts';

/** What pods can request on the node in total. */
export const allocatableOf = (node: Node): Amounts =>
  parseAmounts(node.status?.allocatable ?? node.status?.capacity);

export const requestsOf = ({ spec }: Pod): Amounts =>
  sum(podAmounts((spec ?? {}) as PodAmounts, 'requests'), parseAmounts(spec?.overhead));
