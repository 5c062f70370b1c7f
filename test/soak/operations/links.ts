/** Links that break and are mended: none of it explains that a front door does not answer. */
import type { Site } from '../sites.ts';
import type { World } from '../world.ts';
import type { Operation } from './operation.ts';

/** Until a node that was lost is ready again, and all know it. */
const BACK_S = 15;

const cutPool: Operation = async (world, chance) => {
  const pool = chance.of(world.sites.pools);
  if (world.sites.linkOf(pool) === 'cut') return undefined;
  await cut(world, world.sites.of(pool));
  return `cut ${pool}`;
};

/**
 * When a node counts as lost, so does a router on it: then nobody leads there from the pool's other nodes, though
 * requests at the node itself are answered.
 */
const cutNode: Operation = async (world, chance) => {
  const site = chance.of(world.sites.all);
  if (site.cutAt !== undefined || world.sites.of(site.pool).length === 1) return undefined;
  const routers = await world.routerPods(site.pool);
  await cut(world, [site]);
  if (routers.some(({ spec }) => spec?.nodeName === site.name)) {
    const others = world.sites.addressesOf(site.pool).filter((address) => address !== site.address);
    world.excuses.giveUntilMended(others, `the router of ${site.pool} counts as lost`);
  }
  return `cut ${site.name}`;
};

export const mendAll: Operation = async (world) => {
  if (!world.sites.anyCut) return undefined;
  await world.cluster.tidegate('mend', '--all');
  for (const site of world.sites.all) site.cutAt = undefined;
  world.excuses.mended(BACK_S);
  return 'mend --all';
};

export const LINKS: Record<string, Operation> = {
  'cut a pool': cutPool,
  'cut a node': cutNode,
  mend: mendAll,
};

async function cut(world: World, sites: readonly Site[]): Promise<void> {
  await world.cluster.tidegate('cut', ...sites.map(({ name }) => name));
  for (const site of sites) site.cutAt ??= performance.now();
}
