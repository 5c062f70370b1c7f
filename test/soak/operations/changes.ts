/** What people ask of the cluster: more or fewer pods and routers, a node elsewhere, a pod that has to go. */

import { isConflict, NODES, PODS } from '@tidegate/kube';
import { EDGE_APPLICATIONS, YURT_INGRESSES } from '../../../packages/tidegate/src/api/index.ts';
import type { World } from '../world.ts';
import type { Operation } from './operation.ts';

/** A router that is started elsewhere, and that all know of. */
const ROUTER_START_S = 20;
const MOVE_S = 20;
/** Until a router that has to go ends its connections. */
const LEAVE_S = 10;
const MOST_PODS = 4;

/** With some nodes cut off and others not, nobody can say which pods are told of it. */
const scale: Operation = async (world, chance) => {
  const pool = chance.of(world.sites.pools);
  const replicas = 1 + chance.integer(MOST_PODS);
  if (world.sites.linkOf(pool) === 'partly' || replicas === world.replicas.get(pool)) return undefined;
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
  if (world.sites.pools.some((pool) => world.sites.linkOf(pool) === 'partly')) return undefined;
  const replicas = world.routers === 1 ? 2 : 1;
  await world.client.patch(YURT_INGRESSES, { name: 'cities' }, 'merge', {
    spec: { ingress_controller_replicas_per_pool: replicas },
  });
  world.routers = replicas;
  return `${replicas} routers in each pool`;
};

/**
 * A node of the pool that has another one goes to the other pool; one that is elsewhere goes home. Who can not be told
 * of it goes on as before, so all have to be told.
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
    // Connections that it has stay with it, and from there it sees its pool no more.
    world.excuses.give(world.sites.addressesOf(from), LEAVE_S, `a router of ${from} moves with ${site.name}`);
  }
  if ((await world.answering(stay)).length === 0 || routersStay.length === 0) {
    const what = `all that ${from} had was on ${site.name}`;
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
