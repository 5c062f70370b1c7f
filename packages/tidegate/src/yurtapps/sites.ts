/** The pools of an application of OpenYurt, and the changes for each of them. */
import { type JsonMap, matcherFromSelector, SelectorError } from '@tidegate/kube';
import {
  type LabelSelector,
  NODE_POOL_LABEL,
  type NodePool,
  type TopologyPool,
  type WorkloadTweak,
  type YurtAppDaemon,
  type YurtAppOverrider,
  type YurtAppSet,
} from '../api/index.ts';
import {
  type Change,
  imageChange,
  jsonPatchChange,
  replicasChange,
  strategicChange,
  tolerationsChange,
} from './changes.ts';
import { type FieldError, isBeta, isYurtAppSet, type YurtApp } from './template.ts';

/** A pool that gets a workload. */
export interface Site {
  /** In the label `apps.openyurt.io/pool-name`, and in the name of the workload. */
  readonly name: string;
  /** A NodePool, or the nodes with certain labels. */
  readonly nodes: { readonly pool: string } | { readonly selector: LabelSelector };
  readonly changes: readonly Change[];
}

export interface Sites {
  readonly sites: readonly Site[];
  readonly errors: readonly FieldError[];
}

/** Lists the sites. `pools` are all NodePools of the cluster; `overrider` is the one for this application. */
export function sitesOf(
  app: YurtApp,
  overrider: YurtAppOverrider | undefined,
  pools: Iterable<NodePool>,
): Sites {
  const errors: FieldError[] = [];
  const matches = selectorsWith(errors);
  const chosen = isYurtAppSet(app)
    ? isBeta(app)
      ? betaSites(app, pools, matches)
      : alphaSites(app, errors)
    : daemonSites(app, pools, matches);
  const sites = chosen
    .map((site) => ({ ...site, changes: [...site.changes, ...overridesFor(site.name, overrider)] }))
    .toSorted((a, b) => (a.name < b.name ? -1 : 1));
  return { sites, errors };
}

type Matches = (pool: NodePool, selector: LabelSelector | undefined, path: string) => boolean;

/** An empty selector selects all pools, as in Kubernetes; no selector selects none. */
function selectorsWith(errors: FieldError[]): Matches {
  const failed = new Set<string>();
  return ({ metadata }, selector, path) => {
    if (selector === undefined) return false;
    try {
      return matcherFromSelector(selector).matches(metadata.labels ?? {});
    } catch (error) {
      if (!(error instanceof SelectorError)) throw error;
      if (!failed.has(path)) errors.push({ path, message: error.message });
      failed.add(path);
      return false;
    }
  };
}

/** A pool that is named, but does not exist, is a site: the status reports that the pool is missing. */
function betaSites({ spec = {} }: YurtAppSet, all: Iterable<NodePool>, matches: Matches): Site[] {
  const pools = new Map([...all].map((pool) => [`${pool.metadata.name}`, pool]));
  const names = new Set(spec.pools ?? []);
  for (const [name, pool] of pools)
    if (matches(pool, spec.nodepoolSelector, 'spec.nodepoolSelector')) names.add(name);
  const tweaks = spec.workload?.workloadTweaks ?? [];
  return [...names].map((name) => {
    const relevant = [...tweaks.entries()].filter(([index, { pools: named = [], nodepoolSelector }]) => {
      const pool = pools.get(name);
      const path = `spec.workload.workloadTweaks[${index}].nodepoolSelector`;
      return named.includes(name) || (pool !== undefined && matches(pool, nodepoolSelector, path));
    });
    return { name, nodes: { pool: name }, changes: tweaksFor(name, relevant) };
  });
}

/** OpenYurt applies the images and replicas of all tweaks first, and then the patches of all tweaks. */
function tweaksFor(pool: string, tweaks: readonly [index: number, WorkloadTweak][]): Change[] {
  const basic = tweaks.flatMap(([index, { tweaks: { replicas, containerImages = [] } = {} }]) => {
    const path = `spec.workload.workloadTweaks[${index}].tweaks`;
    return [
      ...(replicas === undefined ? [] : [replicasChange(`${path}.replicas`, replicas)]),
      ...containerImages.map(({ name, targetImage }, item) =>
        imageChange(`${path}.containerImages[${item}].name`, name, targetImage),
      ),
    ];
  });
  const patches = tweaks.flatMap(([index, { tweaks: { patches: written = [] } = {} }]) =>
    written.map((patch, item) =>
      jsonPatchChange(
        `spec.workload.workloadTweaks[${index}].tweaks.patches[${item}]`,
        patch,
        '{{nodepool-name}}',
        pool,
      ),
    ),
  );
  return [...basic, ...patches];
}

function alphaSites({ spec = {} }: YurtAppSet, errors: FieldError[]): Site[] {
  const sites: Site[] = [];
  for (const [index, pool] of (spec.topology?.pools ?? []).entries()) {
    const path = `spec.topology.pools[${index}]`;
    const nodes = nodesOf(pool);
    if (typeof nodes === 'string') errors.push({ path: `${path}.nodeSelectorTerm`, message: nodes });
    else if (sites.some(({ name }) => name === pool.name))
      errors.push({ path: `${path}.name`, message: `pool ${pool.name} appears twice: remove one of them` });
    else sites.push({ name: pool.name, nodes, changes: topologyChanges(pool, path) });
  }
  return sites;
}

/** Usually the term selects the nodes of the NodePool with the same name. Other terms select nodes by their labels. */
function nodesOf({ name, nodeSelectorTerm = {} }: TopologyPool): Site['nodes'] | string {
  const { matchExpressions = [], matchFields = [] } = nodeSelectorTerm;
  if (matchFields.length > 0) return 'matchFields are not supported: select nodes by their labels';
  const [only] = matchExpressions;
  if (only === undefined) return { pool: name };
  const isOnePool = only.key === NODE_POOL_LABEL && only.operator === 'In' && only.values?.length === 1;
  if (matchExpressions.length === 1 && isOnePool && only.values?.[0] === name) return { pool: name };
  const odd = matchExpressions.find(({ operator }) => operator === 'Gt' || operator === 'Lt');
  if (odd !== undefined)
    return `operator ${odd.operator} is not supported: use In, NotIn, Exists or DoesNotExist`;
  return { selector: { matchExpressions } };
}

/** The patch comes last: it decides about replicas if it contains them. */
const topologyChanges = ({ replicas, tolerations = [], patch }: TopologyPool, path: string): Change[] => [
  ...(replicas === undefined ? [] : [replicasChange(`${path}.replicas`, replicas)]),
  ...(tolerations.length === 0 ? [] : [tolerationsChange(`${path}.tolerations`, tolerations)]),
  ...(patch === undefined ? [] : [strategicChange(`${path}.patch`, patch)]),
];

/** The pods tolerate the taints of their pool. */
function daemonSites({ spec = {} }: YurtAppDaemon, all: Iterable<NodePool>, matches: Matches): Site[] {
  return [...all]
    .filter((pool) => matches(pool, spec.nodepoolSelector, 'spec.nodepoolSelector'))
    .map(({ metadata, spec: poolSpec }) => {
      const name = `${metadata.name}`;
      const tolerations = (poolSpec?.taints ?? []).map(
        ({ key, value, effect }): JsonMap => ({
          key,
          operator: value ? 'Equal' : 'Exists',
          ...(value && { value }),
          effect,
        }),
      );
      const changes = tolerations.length === 0 ? [] : [tolerationsChange('spec.taints', tolerations)];
      return { name, nodes: { pool: name }, changes };
    });
}

/** The changes of a YurtAppOverrider for one pool. An excluded pool is excluded wherever the exclusion is in the list. */
function overridesFor(pool: string, overrider: YurtAppOverrider | undefined): Change[] {
  const prefix = `YurtAppOverrider ${overrider?.metadata.name}: entries`;
  return (overrider?.entries ?? []).flatMap(({ pools = [], items = [], patches = [] }, index) => {
    const applies = (pools.includes(pool) || pools.includes('*')) && !pools.includes(`-${pool}`);
    if (!applies) return [];
    const path = `${prefix}[${index}]`;
    return [
      ...items.flatMap(({ image, replicas }, item) => [
        ...(image === undefined
          ? []
          : [
              imageChange(
                `${path}.items[${item}].image.containerName`,
                image.containerName,
                image.imageClaim,
              ),
            ]),
        ...(replicas === undefined ? [] : [replicasChange(`${path}.items[${item}].replicas`, replicas)]),
      ]),
      ...patches.map((patch, item) =>
        jsonPatchChange(`${path}.patches[${item}]`, patch, '{{nodepool}}', pool),
      ),
    ];
  });
}
