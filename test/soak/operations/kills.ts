/** Kills of all kinds of processes. Everything is restarted; most kills must not affect any request. */
import type { Pod } from '@tidegate/kube';
import { childrenOf, kill } from '../processes.ts';
import type { World } from '../world.ts';
import type { Operation } from './operation.ts';

/** The time until its node has restarted it and it is ready. */
const ROUTER_START_S = 15;
const NGINX_START_S = 10;
/** The time until hub and agent run, and have started the pods, perhaps with a router. */
const REBOOT_S = 45;
/** For requests in progress. */
const MOMENT_S = 2;
/** After more kills, the next restart would take too long. */
const MAX_CRASHES = 3;

/** A process that no request depends on. */
const hidden =
  (name: string): Operation =>
  (world) =>
    killPart(world, name);

const hub: Operation = (world, chance) => killPart(world, `hub-${chance.of(world.sites.all).name}`);

/** The agent forwards the node's own address. */
const agent: Operation = async (world, chance) => {
  const { name, address } = chance.of(world.sites.all);
  world.excuses.give([address], ROUTER_START_S, `the agent of ${name} was killed`);
  return killPart(world, name);
};

/** The pool has other pods; otherwise requests fail until it is restarted. */
const appPod: Operation = async (world, chance) => {
  const pool = chance.of(world.sites.pools);
  const answering = await world.answering(await world.countedPods(pool));
  const [pod, pid] = (await someProcess(world, answering, chance)) ?? [];
  if (pod === undefined || pid === undefined) return undefined;
  const delay = world.processes.killPod(pod, pid);
  if (answering.length === 1) {
    const what = `the only pod of ${pool} was killed`;
    world.excuses.give(world.sites.addressesOf(pool), ROUTER_START_S + delay, what);
  }
  return `kill -9 ${pod.metadata.name}, one of ${answering.length}`;
};

const router: Operation = async (world, chance) => {
  const pool = chance.of(world.sites.pools);
  const [pod, pid] = (await someProcess(world, await world.routerPods(pool), chance)) ?? [];
  if (pod === undefined || pid === undefined) return undefined;
  const delay = world.processes.killPod(pod, pid);
  const what = `a router of ${pool} was killed`;
  world.excuses.give(world.sites.addressesOf(pool), ROUTER_START_S + delay, what);
  return `kill -9 ${pod.metadata.name}`;
};

const nginxMaster: Operation = async (world, chance) => {
  const [pool, masters] = await mastersOf(world, chance.of(world.sites.pools));
  if (masters.length === 0) return undefined;
  world.excuses.give(world.sites.addressesOf(pool), NGINX_START_S, `nginx of ${pool} was killed`);
  return kill(chance.of(masters)) ? `kill -9 the nginx master of ${pool}` : undefined;
};

const nginxWorker: Operation = async (world, chance) => {
  const [pool, masters] = await mastersOf(world, chance.of(world.sites.pools));
  const workers = (await Promise.all(masters.map(childrenOf))).flat();
  if (workers.length === 0) return undefined;
  world.excuses.give(world.sites.addressesOf(pool), MOMENT_S, `a worker of nginx of ${pool} was killed`);
  return kill(chance.of(workers)) ? `kill -9 an nginx worker of ${pool}` : undefined;
};

/**
 * Hub, agent and pods of a node end, with or without a link, and its pods get new addresses. Other pods of the pool serve
 * meanwhile; without any, or if the router was there, requests fail until the node has started them again.
 */
const power: Operation = async (world, chance) => {
  const { name, address, pool } = chance.of(world.sites.all);
  const pods = await world.answering(await world.countedPods(pool));
  const routers = await world.routerPods(pool);
  const isHere = ({ spec }: Pod): boolean => spec?.nodeName === name;
  const isNeeded = routers.some(isHere) || pods.every(isHere);
  const all = world.sites.addressesOf(pool);
  world.excuses.give([address], REBOOT_S, `the power of ${name} failed`);
  world.excuses.give(all, isNeeded ? REBOOT_S : MOMENT_S, `the power of ${name} failed, in ${pool}`);
  await world.cluster.tidegate('reboot', name);
  return `reboot ${name}${isNeeded ? ', which the pool needs' : ''}`;
};

/** The pods keep running, but the nodes and everything they listen on stop. */
const everything: Operation = async (world) => {
  const addresses = world.sites.all.map(({ address }) => address);
  const excuse = world.excuses.give(
    addresses,
    Number.POSITIVE_INFINITY,
    'everything except the pods was killed',
  );
  await world.killAndRestart();
  excuse.until = performance.now() + ROUTER_START_S * 1000;
  return 'kill -9 tidegate up, and start it again';
};

export const KILLS: Record<string, Operation> = {
  'kill all but the pods': everything,
  'kill the API server': hidden('apiserver'),
  'kill the controllers': hidden('controllers'),
  'kill the manager': hidden('manager'),
  'kill a hub': hub,
  'kill a node': agent,
  'reboot a node': power,
  'kill a pod': appPod,
  'kill a router': router,
  'kill an nginx master': nginxMaster,
  'kill an nginx worker': nginxWorker,
};

async function killPart(world: World, name: string): Promise<string | undefined> {
  const pid = (await world.report()).processes.find((part) => part.name === name)?.pid;
  return pid !== undefined && kill(pid) ? `kill -9 ${name}` : undefined;
}

async function someProcess(
  world: World,
  pods: readonly Pod[],
  chance: { of<T>(choices: readonly T[]): T },
): Promise<[Pod, number] | undefined> {
  const fresh = pods.filter((pod) => world.processes.crashesOf(pod) < MAX_CRASHES);
  if (fresh.length === 0) return undefined;
  const pod = chance.of(fresh);
  const pid = await world.processes.ofPod(pod);
  return pid === undefined ? undefined : [pod, pid];
}

async function mastersOf(world: World, pool: string): Promise<[string, number[]]> {
  if (world.dataPlane !== 'nginx') return [pool, []];
  const agents = await Promise.all((await world.routerPods(pool)).map((pod) => world.processes.ofPod(pod)));
  const masters = await Promise.all(agents.flatMap((pid) => (pid === undefined ? [] : childrenOf(pid))));
  return [pool, masters.flat()];
}
