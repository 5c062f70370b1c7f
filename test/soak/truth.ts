/** What must hold after an operation; checked until it does. */

import { getCondition, type Pod } from '@tidegate/kube';
import { L7_ROUTERS, type L7Router } from '../../packages/tidegate/src/api/index.ts';
import type { ClusterReport } from '../../packages/tidegate/src/supervisor/index.ts';
import type { Callers } from './callers.ts';
import { isRunning } from './processes.ts';
import { routeProblems } from './route-checks.ts';
import type { World } from './world.ts';

/** All differences from the intended state: of the front doors themselves, and of what is reported about them. */
export async function problems(world: World, callers: Callers): Promise<string[]> {
  const unhealthy = callers.unhealthy().map((address) => `the front door at ${address} does not respond`);
  const reported = await Promise.all([
    ofStatus(world),
    ofRouters(world),
    ofYurtIngress(world),
    ofApplication(world),
    routeProblems(world),
  ]);
  return [...unhealthy, ...reported.flat()];
}

/** Checks `tidegate status`. */
async function ofStatus(world: World): Promise<string[]> {
  const report = await world.report();
  return [
    ...(report.api.reachable ? [] : ['status: the API server is unreachable']),
    ...(await ofProcesses(report)),
    ...ofNodes(world, report),
    ...ofDoors(world, report),
  ];
}

async function ofProcesses({ processes }: ClusterReport): Promise<string[]> {
  const wrong = await Promise.all(
    processes.map(async ({ name, state, pid }) => {
      const running = pid !== undefined && (await isRunning(pid));
      return running && state === 'running' ? [] : [`status: ${name} is ${state}, pid ${pid}`];
    }),
  );
  return wrong.flat();
}

function ofNodes({ sites }: World, { nodes }: ClusterReport): string[] {
  return sites.all.flatMap(({ name, cutAt, pool }) => {
    const node = nodes.find((each) => each.name === name);
    const link = cutAt === undefined ? 'up' : 'cut';
    return [
      ...(node?.link === link ? [] : [`status: the link of ${name} is reported as ${node?.link}`]),
      ...(link === 'up' && node?.ready !== 'True' ? [`status: ${name} is not ready`] : []),
      ...(node?.labels['apps.kubeedge.io/belonging-to'] === pool
        ? []
        : [`status: ${name} is not in ${pool}`]),
    ];
  });
}

function ofDoors(world: World, { frontDoors }: ClusterReport): string[] {
  return world.sites.pools.flatMap((pool) => {
    const door = frontDoors.find((each) => each.pool === pool);
    if (door === undefined) return [`status: the front door of ${pool} is missing`];
    const hosts = [...hostsOf(world, pool)].toSorted();
    const reported = [...door.hosts].toSorted();
    return reported.join() === hosts.join()
      ? []
      : [`status: ${pool} has the hosts ${reported}, expected ${hosts}`];
  });
}

const STORY = 'www.example.com';

const hostsOf = ({ routes }: World, pool: string): Set<string> =>
  new Set([STORY, ...[...routes.values()].filter((route) => route.pool === pool).map(({ host }) => host)]);

/** The readiness of a disconnected pool is unknown, but the number of its routes is not. */
async function ofRouters(world: World): Promise<string[]> {
  const { items } = await world.client.list(L7_ROUTERS);
  return world.sites.pools.flatMap((pool) => {
    const router = items.find(({ spec }) => spec.pool === pool);
    if (router === undefined) return [`the L7Router of ${pool} does not exist`];
    const { hosts, rules } = router.status ?? {};
    const routes = hostsOf(world, pool).size;
    return [
      ...(hosts === routes && rules === routes
        ? []
        : [`L7Router ${pool} reports ${hosts} hosts and ${rules} rules, expected ${routes}`]),
      ...(world.sites.linkOf(pool) === 'up' ? ofRouter(world, pool, router) : []),
    ];
  });
}

function ofRouter({ sites }: World, pool: string, { status }: L7Router): string[] {
  const ready = getCondition(status?.conditions, 'Ready');
  const addresses = status?.addresses?.map(({ ip }) => ip ?? '') ?? [];
  const elsewhere = addresses.filter((address) => !sites.addressesOf(pool).includes(address));
  return [
    ...(ready?.status === 'True' ? [] : [`L7Router ${pool} is not ready: ${ready?.message}`]),
    ...(addresses.length > 0 ? [] : [`L7Router ${pool} has no address`]),
    ...elsewhere.map((address) => `L7Router ${pool} has the address ${address}, which is not in the pool`),
  ];
}

async function ofYurtIngress(world: World): Promise<string[]> {
  const { metadata, status } = await world.yurtIngress();
  const ready = status?.conditions?.readypools ?? [];
  const unready = status?.conditions?.unreadypools ?? [];
  const summary = getCondition(status?.readiness, 'Ready')?.status;
  const all = world.sites.pools.filter((pool) => world.sites.linkOf(pool) === 'up');
  return [
    ...(status?.observedGeneration === metadata.generation ? [] : ['YurtIngress: its status is out of date']),
    ...(status?.ingress_controller_replicas_per_pool === world.routers
      ? []
      : [`YurtIngress reports ${status?.ingress_controller_replicas_per_pool} replicas`]),
    ...(status?.readyNum === ready.length && status.unreadyNum === unready.length
      ? []
      : ['YurtIngress: its counts do not match its lists']),
    ...(ready.length + unready.length === world.sites.pools.length ? [] : ['YurtIngress: a pool is missing']),
    ...((summary === 'True') === (unready.length === 0)
      ? []
      : [`YurtIngress: the Ready condition is ${summary}`]),
    ...all
      .filter((pool) => !ready.includes(pool))
      .map((pool) => {
        const info = unready.find((each) => each.pool.name === pool)?.unreadyinfo;
        return `YurtIngress: ${pool} is not ready: ${info?.reason}: ${info?.message}`;
      }),
  ];
}

/** The requested number of pods and routers, each on a node of its pool. */
async function ofApplication(world: World): Promise<string[]> {
  const pools = world.sites.pools.filter((pool) => world.sites.linkOf(pool) === 'up');
  const wrong = await Promise.all(
    pools.map(async (pool) => {
      const pods = (await world.appPods(pool)).filter(isReady);
      const routers = (await world.routerPods(pool)).filter(isReady);
      const names = world.sites.of(pool).map(({ name }) => name);
      const strays = routers.filter(({ spec }) => !names.includes(spec?.nodeName ?? ''));
      const wanted = world.replicas.get(pool);
      return [
        ...(pods.length === wanted ? [] : [`${pool} has ${pods.length} ready pods, expected ${wanted}`]),
        ...(routers.length === world.routers
          ? []
          : [`${pool} has ${routers.length} ready routers, expected ${world.routers}`]),
        ...strays.map(
          ({ metadata, spec }) => `${metadata.name} is on ${spec?.nodeName}, which is not in ${pool}`,
        ),
      ];
    }),
  );
  return wrong.flat();
}

const isReady = ({ metadata, status }: Pod): boolean =>
  metadata.deletionTimestamp === undefined &&
  status?.conditions?.find(({ type }) => type === 'Ready')?.status === 'True';
