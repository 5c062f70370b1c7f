/** A node port opens on every node of the cluster. The annotation says in which pools it shall. */

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
    const wish = wishOf(object as Service);
    return wish === undefined || listens(wish, poolsOfThisNode(context)) ? object : undefined;
  },
  dependsOn: (object, { nodeName }) => (wishOf(object as Service) === undefined ? [] : [`node:${nodeName}`]),
};

/** Undefined for Services without node ports, and for those that wish nothing. */
function wishOf({ spec, metadata }: Service): string | undefined {
  if (spec?.type !== 'NodePort' && spec?.type !== 'LoadBalancer') return undefined;
  return metadata.annotations?.[NODE_PORT_LISTEN_ANNOTATION];
}

const poolsOfThisNode = ({ membership, nodeName }: FilterContext): string[] =>
  KINDS.flatMap((kind) => membership.poolOf(kind, nodeName) ?? []);

/**
 * `a,b`: in these pools; `*,-a`: in all but one. A name that stands twice counts as it stands first. A pool that is not
 * named does not listen; a node in no pool does as it would without us.
 */
function listens(wish: string, pools: readonly string[]): boolean {
  if (pools.length === 0) return true;
  const wanted = new Map<string, boolean>();
  for (const entry of wish.split(',').map((text) => text.trim())) {
    const refused = entry.startsWith('-');
    const name = refused ? entry.slice(1) : entry;
    if (!wanted.has(name)) wanted.set(name, !refused);
  }
  if (pools.some((pool) => wanted.get(pool) === false)) return false;
  return wanted.get('*') === true || pools.some((pool) => wanted.get(pool) === true);
}
