/** Links are cut and mended. By itself, that must not affect any front door. */
import type { Pod } from '@tidegate/kube';
import type { Site } from '../sites.ts';
import type { World } from '../world.ts';
import type { Operation } from './operation.ts';

/** The time until a lost node is ready again and this is known everywhere. */
const BACK_S = 15;

const cutPool: Operation = async (world, chance) => {
  const pool = chance.of(world.sites.pools);
  if (world.sites.linkOf(pool) !== 'up' || !(await isServed(world, pool))) return undefined;
  await cut(world, world.sites.of(pool));
  return `cut ${pool}`;
};

/**
 * A node that becomes NotReady takes its pods with it: the other nodes of the pool no longer forward to a router
 * there, although requests to the node itself still succeed, and routers elsewhere no longer use the pods there.
 */
const cutNode: Operation = async (world, chance) => {
  const site = chance.of(world.sites.all);
  const others = world.sites.addressesOf(site.pool).filter((address) => address !== site.address);
  if (world.sites.linkOf(site.pool) !== 'up' || others.length === 0) return undefined;
  if (!(await isServed(world, site.pool))) return undefined;
  const elsewhere = ({ spec }: Pod): boolean => spec?.nodeName !== site.name;
  const routers = await world.routerPods(site.pool);
  const pods = await world.answering(await world.appPods(site.pool));
  await cut(world, [site]);
  if (!routers.every(elsewhere)) {
    world.excuses.giveUntilMended(others, `a router of ${site.pool} is considered lost with ${site.name}`);
  }
  if (!pods.some(elsewhere)) {
    const what = `all pods of ${site.pool} are considered lost with ${site.name}`;
    world.excuses.giveUntilMended([site.address, ...others], what);
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

/** A pool is cut only when it has a ready router and a pod, because nothing new can start in it until it is mended. */
async function isServed(world: World, pool: string): Promise<boolean> {
  const isThere = ({ spec }: Pod): boolean =>
    world.sites.of(pool).some(({ name }) => name === spec?.nodeName);
  const isReady = ({ status }: Pod): boolean =>
    status?.conditions?.some((condition) => condition.type === 'Ready' && condition.status === 'True') ??
    false;
  const routers = await world.routerPods(pool);
  const pods = await world.answering(await world.appPods(pool));
  return routers.some((router) => isThere(router) && isReady(router)) && pods.length > 0;
}

async function cut(world: World, sites: readonly Site[]): Promise<void> {
  await world.cluster.tidegate('cut', ...sites.map(({ name }) => name));
  for (const site of sites) site.cutAt ??= performance.now();
}
