/** Which nodes the targets of applications select by label. */
import { matcherFromSelector, meetsNodeRequirement, type Node, SelectorError } from '@tidegate/kube';
import type { EdgeApplication } from '../api/index.ts';
import type { NodesWith, Requirement } from './render/targets.ts';

/** Whether one of the targets selects a node with these labels. A selector that is not valid selects none. */
export const selectsLabels = ({ spec }: EdgeApplication, labels: Record<string, string>): boolean =>
  (spec?.workloadScope?.targetNodeLabels ?? []).some(({ labelSelector }) => {
    try {
      const matcher = matcherFromSelector(labelSelector);
      return !matcher.empty && matcher.matches(labels);
    } catch (error) {
      if (!(error instanceof SelectorError)) throw error;
      return false;
    }
  });

export const hasLabelTargets = ({ spec }: EdgeApplication): boolean =>
  (spec?.workloadScope?.targetNodeLabels ?? []).length > 0;

/** The names of the nodes that meet all requirements. */
export const nodesIn =
  (nodes: () => Iterable<Node>): NodesWith =>
  (requirements) =>
    [...nodes()].filter((node) => meetsAll(node, requirements)).map(({ metadata }) => metadata.name ?? '');

const meetsAll = ({ metadata }: Node, requirements: readonly Requirement[]): boolean =>
  requirements.every((requirement) => meetsNodeRequirement(requirement, metadata.labels ?? {}));
