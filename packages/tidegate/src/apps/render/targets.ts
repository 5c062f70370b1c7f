import {
  type EdgeApplication,
  type LabelSelector,
  NODE_GROUP_LABEL,
  NODE_POOL_LABEL,
  type Overriders,
  type PoolKind,
  type TargetNodeGroup,
  type TargetNodeLabels,
} from '../../api/index.ts';
import { shortHash } from './names.ts';
import type { RenderError } from './result.ts';

export interface Requirement {
  key: string;
  operator: string;
  values?: string[];
}

/** Nodes that get an edition of their own. */
export interface Target {
  /** The field of the EdgeApplication. */
  readonly path: string;
  /** What tells this edition from others, in names and labels. */
  readonly edition: string;
  readonly overriders: Overriders;
  readonly nodes: { label: string; pool: string } | { requirements: readonly Requirement[] };
}

export interface Targets {
  readonly targets: readonly Target[];
  /** Pools that do not exist, and the fields that name them. */
  readonly missing: readonly { pool: string; path: string }[];
  readonly errors: readonly RenderError[];
}

/** Of which kind a pool is; undefined when there is none of that name. */
export type KindOfPool = (name: string) => PoolKind | undefined;

/** Without a cluster to ask, names are those of NodeGroups, as KubeEdge has it. */
export const everyPoolIsNodeGroup: KindOfPool = () => 'NodeGroup';

export function targetsOf({ spec }: EdgeApplication, kindOfPool: KindOfPool): Targets {
  const scope = spec?.workloadScope ?? {};
  const targets: Target[] = [];
  const missing: { pool: string; path: string }[] = [];
  const errors: RenderError[] = [];
  const add = (target: Target): void => {
    const twin = targets.find(({ edition }) => edition === target.edition);
    if (twin === undefined) targets.push(target);
    else errors.push({ path: target.path, message: `the same nodes as ${twin.path}: leave one of them out` });
  };
  for (const [index, group] of (scope.targetNodeGroups ?? []).entries()) {
    const path = `spec.workloadScope.targetNodeGroups[${index}]`;
    const kind = kindOfPool(group.name);
    if (kind === undefined) missing.push({ pool: group.name, path: `${path}.name` });
    else add(poolTarget(group, kind, path));
  }
  for (const [index, labels] of (scope.targetNodeLabels ?? []).entries()) {
    const path = `spec.workloadScope.targetNodeLabels[${index}]`;
    const requirements = requirementsOf(labels.labelSelector ?? {});
    if (typeof requirements === 'string')
      errors.push({ path: `${path}.labelSelector`, message: requirements });
    else add(labelsTarget(labels, requirements, path));
  }
  return { targets, missing, errors };
}

const poolTarget = ({ name, overriders = {} }: TargetNodeGroup, kind: PoolKind, path: string): Target => ({
  path,
  edition: name,
  overriders,
  nodes: { label: kind === 'NodeGroup' ? NODE_GROUP_LABEL : NODE_POOL_LABEL, pool: name },
});

const labelsTarget = (
  { labelSelector = {}, overriders = {} }: TargetNodeLabels,
  requirements: readonly Requirement[],
  path: string,
): Target => ({
  path,
  edition: `ls-${shortHash(selectorText(labelSelector))}`,
  overriders,
  nodes: { requirements },
});

/** KubeEdge hashes keys and values in order, one after the other; expressions are not in its names. */
function selectorText({ matchLabels = {}, matchExpressions = [] }: LabelSelector): string {
  const labels = Object.entries(matchLabels).toSorted(byKey).flat().join('');
  const expressions = matchExpressions.map(({ key, operator, values = [] }) =>
    JSON.stringify([key, operator, values.toSorted()]),
  );
  return labels + expressions.toSorted().join('');
}

/** The selector as a node affinity says it, always in the same order; or what is wrong with it. */
function requirementsOf({ matchLabels = {}, matchExpressions = [] }: LabelSelector): Requirement[] | string {
  const labels = Object.entries(matchLabels).map(([key, value]) => ({
    key,
    operator: 'In',
    values: [value],
  }));
  const all: Requirement[] = [...labels];
  for (const { key, operator, values = [] } of matchExpressions) {
    const wantsValues = operator === 'In' || operator === 'NotIn';
    if (!wantsValues && operator !== 'Exists' && operator !== 'DoesNotExist')
      return `${JSON.stringify(operator)} is none of In, NotIn, Exists and DoesNotExist`;
    if (wantsValues !== values.length > 0)
      return `${operator} on ${key} ${wantsValues ? 'needs values' : 'takes no values'}`;
    all.push(wantsValues ? { key, operator, values: values.toSorted() } : { key, operator });
  }
  if (all.length === 0) return 'an empty selector chooses no node: give matchLabels or matchExpressions';
  return all.toSorted((a, b) => compare(JSON.stringify(a), JSON.stringify(b)));
}

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);
const byKey = ([a]: [string, string], [b]: [string, string]): number => compare(a, b);
