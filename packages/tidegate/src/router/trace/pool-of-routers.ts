import type { Node } from '@tidegate/kube';
import { type L7Router, NODE_GROUP_LABEL, NODE_POOL_LABEL } from '../../api/index.ts';

/** The pool that all of these routers run in, by their spec or else by the labels of their nodes. */
export function poolOfRouters(routers: readonly L7Router[], nodes: readonly Node[]): string | undefined {
  const pools = new Set(routers.flatMap((router) => poolsOf(router, nodes)));
  const [pool] = pools;
  return pools.size === 1 ? pool : undefined;
}

function poolsOf({ spec, status }: L7Router, nodes: readonly Node[]): (string | undefined)[] {
  if (spec.pool !== undefined) return [spec.pool];
  const addresses = new Set((status?.addresses ?? []).map(({ ip }) => ip));
  return nodes
    .filter(({ status: is }) => is?.addresses?.some(({ address }) => addresses.has(address)))
    .map(({ metadata: { labels = {} } }) => labels[NODE_POOL_LABEL] ?? labels[NODE_GROUP_LABEL]);
}
