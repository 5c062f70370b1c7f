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

/** A requirement of a node affinity term. */
export interface Requirement {
  key: string;
  operator: string;
  values?: string[];
}

/** A set of nodes that gets an edition: a pool, or the nodes with certain labels. */
export interface Target {
  /** The field of the EdgeApplication, for error messages. */
  readonly path: string;
  /** The name of the edition, which is part of object names and labels: the pool, or `ls-` and a hash of the labels. */
  readonly edition: string;
  readonly overriders: Overriders;
  /** Names of workloads, by the name in the template. */
  readonly names?: Readonly<Record<string, string>>;
  readonly nodes: { label: string; pool: string } | { requirements: readonly Requirement[] };
  /** The nodes with the labels, if the cluster is known. */
  readonly members?: readonly string[];
}

export interface Targets {
  readonly targets: readonly Target[];
  /** Pools that do not exist, and the fields that name them. */
  readonly missing: readonly { pool: string; path: string }[];
  readonly errors: readonly RenderError[];
}

/** Returns the kind of a pool, or undefined if there is no pool with this name, or none of the wanted kind. */
export type KindOfPool = (name: string, wanted?: PoolKind) => PoolKind | undefined;

/** Returns the names of the nodes with these labels. */
export type NodesWith = (requirements: readonly Requirement[]) => readonly string[];

/** When pools of the two kinds were created; undefined if there is none. */
export type PoolAges = Readonly<Record<PoolKind, string | undefined>>;

/**
 * Decides between a NodeGroup and a NodePool with the same name. The older one counts, so that a new pool of the other kind
 * does not move the pods of running applications.
 */
export function kindByAge(
  { NodeGroup: group, NodePool: pool }: PoolAges,
  wanted?: PoolKind,
): PoolKind | undefined {
  if (wanted !== undefined)
    return { NodeGroup: group, NodePool: pool }[wanted] === undefined ? undefined : wanted;
  if (group === undefined) return pool === undefined ? undefined : 'NodePool';
  return pool !== undefined && pool < group ? 'NodePool' : 'NodeGroup';
}

/** For use without a cluster: takes every name to be that of a NodeGroup, as in KubeEdge. */
export const everyPoolIsNodeGroup: KindOfPool = (_, wanted) => wanted ?? 'NodeGroup';

/** Lists the targets of an application. Pools that do not exist are not targets; `missing` contains them. */
export function targetsOf({ spec }: EdgeApplication, kindOfPool: KindOfPool, nodesWith?: NodesWith): Targets {
  const scope = spec?.workloadScope ?? {};
  const byEdition = new Map<string, Target>();
  const missing: { pool: string; path: string }[] = [];
  const errors: RenderError[] = [];
  const add = (target: Target): void => {
    const twin = byEdition.get(target.edition);
    if (twin === undefined) byEdition.set(target.edition, target);
    else
      errors.push({
        path: target.path,
        message: `selects the same nodes as ${twin.path}: remove one of them`,
      });
  };
  for (const [index, group] of (scope.targetNodeGroups ?? []).entries()) {
    const path = `spec.workloadScope.targetNodeGroups[${index}]`;
    const kind = kindOfPool(group.name, group.kind);
    if (kind === undefined) missing.push({ pool: group.name, path: `${path}.name` });
    else add(poolTarget(group, kind, path));
  }
  for (const [index, labels] of (scope.targetNodeLabels ?? []).entries()) {
    const path = `spec.workloadScope.targetNodeLabels[${index}]`;
    const requirements = requirementsOf(labels.labelSelector ?? {});
    if (typeof requirements === 'string')
      errors.push({ path: `${path}.labelSelector`, message: requirements });
    else {
      const members = nodesWith?.(requirements);
      add({ ...labelsTarget(labels, requirements, path), ...(members && { members }) });
    }
  }
  return { targets: [...byEdition.values()], missing, errors };
}

const poolTarget = (
  { name, overriders = {}, workloadNames }: TargetNodeGroup,
  kind: PoolKind,
  path: string,
): Target => ({
  path,
  edition: name,
  overriders,
  ...(workloadNames && { names: workloadNames }),
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

/**
 * The text whose hash names the edition. The labels are joined as KubeEdge joins them, so that names stay the same.
 * KubeEdge ignores matchExpressions; here they are part of the name, because selectors that differ only in expressions
 * select different nodes.
 */
function selectorText({ matchLabels = {}, matchExpressions = [] }: LabelSelector): string {
  const labels = Object.entries(matchLabels).toSorted(byKey).flat().join('');
  const expressions = matchExpressions.map(({ key, operator, values = [] }) =>
    JSON.stringify([key, operator, values.toSorted()]),
  );
  return labels + expressions.toSorted().join('');
}

/** Converts a label selector to sorted node affinity requirements. Returns an error message if it is not valid. */
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
      return `unsupported operator ${JSON.stringify(operator)}; supported operators: In, NotIn, Exists, DoesNotExist`;
    if (wantsValues !== values.length > 0)
      return `operator ${operator} of key ${key} ${wantsValues ? 'requires values' : 'does not accept values'}`;
    all.push(wantsValues ? { key, operator, values: values.toSorted() } : { key, operator });
  }
  if (all.length === 0) return 'an empty selector selects no nodes: set matchLabels or matchExpressions';
  return all.toSorted((a, b) => compare(JSON.stringify(a), JSON.stringify(b)));
}

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);
const byKey = ([a]: [string, string], [b]: [string, string]): number => compare(a, b);
