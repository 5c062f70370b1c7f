/** Changes by users: the number of pods and routers, the pool of a node, deleted pods. */

import { isConflict, NODES, PODS } from '@tidegate/kube';
import { EDGE_APPLICATIONS, YURT_INGRESSES } from '../../../packages/tidegate/src/api/index.ts';
import type { World } from '../world.ts';
import type { Operation } from './operation.ts';

/** The time until a router has started on another node and is known everywhere. */
const ROUTER_START_S = 20;
const MOVE_S = 20;
/** The time until a terminating router has closed its connections. */
const LEAVE_S = 10;
const MAX_PODS = 4;

/** Not for a partially cut pool, because it is unclear which pods the change would reach. */
const scale: Operation = async (world, chance) => {
  const pool = chance.of(world.sites.pools);
  const replicas = 1 + chance.integer(MAX_PODS);
  if (world.sites.linkOf(pool) === 'partial' || replicas === world.replicas.get(pool)) return undefined;
  await scaleTo(world, pool, replicas);
  return `scale ${pool} to ${replicas}`;
};

async function scaleTo(world: World, pool: string, replicas: number): Promise<void> {
  const application = await world.client.get(EDGE_APPLICATIONS, { namespace: 'default', name: 'nginx-app' });
  const groups = application.spec.workloadScope.targetNodeGroups ?? [];
  const targetNodeGroups = groups.map((group) =>
    group.name === pool ? { ...group, overriders: { ...group.overriders, replicas } } : group,
  );
  const workloadScope = { ...application.spec.workloadScope, targetNodeGroups };
  try {
    await world.client.update(EDGE_APPLICATIONS, {
      ...application,
      spec: { ...application.spec, workloadScope },
    });
  } catch (error) {
    if (isConflict(error)) return scaleTo(world, pool, replicas);
    throw error;
  }
  world.replicas.set(pool, replicas);
}

const routers: Operation = async (world) => {
  if (world.sites.pools.some((pool) => world.sites.linkOf(pool) === 'partial')) return undefined;
  const replicas = world.routers === 1 ? 2 : 1;
  await world.client.patch(YURT_INGRESSES, { name: 'cities' }, 'merge', {
    spec: { ingress_controller_replicas_per_pool: replicas },
  });
  world.routers = replicas;
  return `${replicas} routers in each pool`;
};

/**
 * Moves a node to the other pool if its pool has another node, or moves it back. Not while any link is cut, because
 * a disconnected router would not learn about it.
 */
const move: Operation = async (world, chance) => {
  if (world.sites.anyCut) return undefined;
  const away = world.sites.all.find(({ pool, home }) => pool !== home);
  const site = away ?? chance.of(world.sites.all);
  const { pool: from } = site;
  const to = away?.home ?? world.sites.pools.find((pool) => pool !== from);
  const others = world.sites.of(from).filter((other) => other !== site);
  if (to === undefined || others.length === 0) return undefined;
  const stay = (await world.appPods(from)).filter(({ spec }) => spec?.nodeName !== site.name);
  const routersStay = (await world.routerPods(from)).filter(({ spec }) => spec?.nodeName !== site.name);
  const allRouters = await world.allRouterPods(from);
  world.excuses.give([site.address], MOVE_S, `${site.name} moves`);
  if (allRouters.some(({ spec }) => spec?.nodeName === site.name)) {
    // Its existing connections stay, but from its new pool it no longer sees the endpoints of the old one.
    world.excuses.give(world.sites.addressesOf(from), LEAVE_S, `a router of ${from} moves with ${site.name}`);
  }
  if ((await world.answering(stay)).length === 0 || routersStay.length === 0) {
    const what = `all pods or routers of ${from} were on ${site.name}`;
    world.excuses.give(world.sites.addressesOf(from), ROUTER_START_S, what);
  }
  world.sites.move(site, to);
  await world.client.patch(NODES, { name: site.name }, 'merge', { metadata: { labels: { location: to } } });
  return `move ${site.name} from ${from} to ${to}`;
};

const deleteRouter: Operation = async (world, chance) => {
  const pool = chance.of(world.sites.pools);
  const pods = await world.routerPods(pool);
  if (world.sites.linkOf(pool) !== 'up' || pods.length === 0) return undefined;
  const { name, namespace } = chance.of(pods).metadata;
  if (pods.length === 1) {
    world.excuses.give(world.sites.addressesOf(pool), ROUTER_START_S, `the router of ${pool} was deleted`);
  }
  await world.client.delete(PODS, { namespace, name: `${name}` });
  return `delete ${name}, one of ${pods.length}`;
};

const deletePod: Operation = async (world, chance) => {
  const pool = chance.of(world.sites.pools);
  const pods = await world.answering(await world.appPods(pool));
  if (world.sites.linkOf(pool) !== 'up' || pods.length === 0) return undefined;
  const { name, namespace } = chance.of(pods).metadata;
  if (pods.length === 1) {
    world.excuses.give(world.sites.addressesOf(pool), ROUTER_START_S, `the only pod of ${pool} was deleted`);
  }
  await world.client.delete(PODS, { namespace, name: `${name}` });
  return `delete ${name}, one of ${pods.length}`;
};

export const CHANGES: Record<string, Operation> = {
  'scale the application': scale,
  'scale the routers': routers,
  'move a node': move,
  'delete a router': deleteRouter,
  'delete a pod': deletePod,
};
