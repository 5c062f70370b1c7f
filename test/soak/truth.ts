/** What must be so once an operation is over: looked at until it is. */

import { getCondition, type Pod } from '@tidegate/kube';
import { L7_ROUTERS, type L7Router } from '../../packages/tidegate/src/api/index.ts';
import type { ClusterReport } from '../../packages/tidegate/src/supervisor/index.ts';
import type { Callers } from './callers.ts';
import { isRunning } from './processes.ts';
import { routeProblems } from './routes.ts';
import type { World } from './world.ts';

/** All that is not as it should be: of the front doors themselves, and of what is told of them. */
export async function wrongs(world: World, callers: Callers): Promise<string[]> {
  const unwell = callers.unwell().map((address) => `the front door at ${address} does not answer`);
  const told = await Promise.all([
    ofStatus(world),
    ofRouters(world),
    ofYurtIngress(world),
    ofApplication(world),
    routeProblems(world),
  ]);
  return [...unwell, ...told.flat()];
}

/** `tidegate status`. */
async function ofStatus(world: World): Promise<string[]> {
  const report = await world.report();
  return [
    ...(report.api.reachable ? [] : ['status: the API server can not be reached']),
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
      ...(node?.link === link ? [] : [`status: the link of ${name} is told to be ${node?.link}`]),
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
    if (door === undefined) return [`status: no front door of ${pool}`];
    const hosts = [...hostsOf(world, pool)].toSorted();
    const told = [...door.hosts].toSorted();
    return told.join() === hosts.join() ? [] : [`status: ${pool} has the hosts ${told}, not ${hosts}`];
  });
}

const STORY = 'www.example.com';

const hostsOf = ({ routes }: World, pool: string): Set<string> =>
  new Set([STORY, ...[...routes.values()].filter((route) => route.pool === pool).map(({ host }) => host)]);

/** Of a pool that is cut off nobody can know how it is, but how many routes it should have. */
async function ofRouters(world: World): Promise<string[]> {
  const { items } = await world.client.list(L7_ROUTERS);
  return world.sites.pools.flatMap((pool) => {
    const router = items.find(({ spec }) => spec.pool === pool);
    if (router === undefined) return [`there is no L7Router of ${pool}`];
    const { hosts, rules } = router.status ?? {};
    const routes = hostsOf(world, pool).size;
    return [
      ...(hosts === routes && rules === routes
        ? []
        : [`L7Router ${pool} tells of ${hosts} hosts and ${rules} rules, not ${routes}`]),
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
    ...elsewhere.map((address) => `L7Router ${pool} has the address ${address}, which is not in ${pool}`),
  ];
}

async function ofYurtIngress(world: World): Promise<string[]> {
  const { metadata, status } = await world.yurtIngress();
  const ready = status?.conditions?.readypools ?? [];
  const unready = status?.conditions?.unreadypools ?? [];
  const summary = getCondition(status?.readiness, 'Ready')?.status;
  const all = world.sites.pools.filter((pool) => world.sites.linkOf(pool) === 'up');
  return [
    ...(status?.observedGeneration === metadata.generation ? [] : ['YurtIngress: its change was not seen']),
    ...(status?.ingress_controller_replicas_per_pool === world.routers
      ? []
      : [`YurtIngress tells of ${status?.ingress_controller_replicas_per_pool} replicas`]),
    ...(status?.readyNum === ready.length && status.unreadyNum === unready.length
      ? []
      : ['YurtIngress: its numbers are not those of its lists']),
    ...(ready.length + unready.length === world.sites.pools.length ? [] : ['YurtIngress: a pool is missing']),
    ...((summary === 'True') === (unready.length === 0)
      ? []
      : [`YurtIngress is told to be ready: ${summary}`]),
    ...all
      .filter((pool) => !ready.includes(pool))
      .map((pool) => {
        const info = unready.find((each) => each.pool.name === pool)?.unreadyinfo;
        return `YurtIngress: ${pool} is not ready: ${info?.reason}: ${info?.message}`;
      }),
  ];
}

/** As many pods as were asked for, each on a node of its pool, and routers too. */
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
        ...(pods.length === wanted ? [] : [`${pool} has ${pods.length} ready pods, not ${wanted}`]),
        ...(routers.length === world.routers
          ? []
          : [`${pool} has ${routers.length} ready routers, not ${world.routers}`]),
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
