/**
 * Limits node ports to pools. kube-proxy opens a node port on every node of the cluster; with the annotation
 * nodeport.openyurt.io/listen, only the nodes of the named pools see the Service.
 */

import type { Service } from '@tidegate/kube';
import { KUBE_PROXY_USER_AGENT, NODE_PORT_LISTEN_ANNOTATION, type PoolKind } from '../../../api/index.ts';
import type { Filter, FilterContext } from '../filter.ts';
import { SERVICE } from '../resources.ts';

const KINDS: readonly PoolKind[] = ['NodePool', 'NodeGroup'];

export const nodePortIsolation: Filter = {
  name: 'nodeportisolation',
  components: [KUBE_PROXY_USER_AGENT],
  resources: SERVICE,
  apply(object, context) {
    const pools = listenPools(object as Service);
    return pools === undefined || listens(pools, poolsOfThisNode(context)) ? object : undefined;
  },
  dependsOn: (object, { nodeName }) =>
    listenPools(object as Service) === undefined ? [] : [`node:${nodeName}`],
};

/** The annotation. Undefined for Services without node ports, and for Services without the annotation. */
function listenPools({ spec, metadata }: Service): string | undefined {
  if (spec?.type !== 'NodePort' && spec?.type !== 'LoadBalancer') return undefined;
  return metadata.annotations?.[NODE_PORT_LISTEN_ANNOTATION];
}

const poolsOfThisNode = ({ membership, nodeName }: FilterContext): string[] =>
  KINDS.flatMap((kind) => membership.poolOf(kind, nodeName) ?? []);

/**
 * `a,b`: in these pools. `*,-a`: in all pools except one. If a name appears more than once, the first occurrence wins. A
 * pool that is not named does not listen. A node outside every pool listens as it would without the hub.
 */
function listens(annotation: string, pools: readonly string[]): boolean {
  if (pools.length === 0) return true;
  const wanted = new Map<string, boolean>();
  for (const entry of annotation.split(',').map((text) => text.trim())) {
    const isExcluded = entry.startsWith('-');
    const name = isExcluded ? entry.slice(1) : entry;
    if (!wanted.has(name)) wanted.set(name, !isExcluded);
  }
  if (pools.some((pool) => wanted.get(pool) === false)) return false;
  return wanted.get('*') === true || pools.some((pool) => wanted.get(pool) === true);
}
