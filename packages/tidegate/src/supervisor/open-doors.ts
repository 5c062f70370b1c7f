/** Waits for front doors that are expected to open. */
import { childController, INGRESSES, Informer, type KubeClient, sleep, systemClock } from '@tidegate/kube';
import { L7_ROUTERS } from '../api/index.ts';
import { type FrontDoor, frontDoors, sampleRequest } from './front-doors.ts';
import { doorNotReady, type NotReady } from './not-ready.ts';
import { readObjects, type SeenObjects } from './objects.ts';
import { untilReady } from './readiness.ts';
import type { Reporter } from './report.ts';
import { whoAnswers } from './router-identity.ts';
import { sampleAnswer } from './routers.ts';
import { routeReports } from './routes.ts';
import { addressOf, type ClusterState } from './state.ts';

async function readFrontDoors(client: KubeClient): Promise<FrontDoor[]> {
  const seen = await readObjects(client);
  return seen === undefined ? [] : doorsOf(seen);
}

const doorsOf = ({ routers, ingresses }: SeenObjects): FrontDoor[] =>
  frontDoors(routers, routeReports(ingresses, routers));

/** Front doors that were ready at the last stop, and whose nodes all start with a link to the API server. */
export async function expectedFrontDoors(client: KubeClient, cluster: ClusterState): Promise<string[]> {
  const addresses = cluster.nodes.filter(({ cut }) => !cut).map((node) => addressOf(cluster, node));
  return (await readFrontDoors(client))
    .filter((door) => door.ready === 'True' && sampleRequest(door) !== undefined)
    .filter(({ urls }) => urls.every((url) => addresses.includes(new URL(url).hostname)))
    .map(({ name }) => name);
}

/** For front doors that were not ready at the last stop. Their pods may have been about to start, or may be broken. */
const UNEXPECTED_DOORS_MS = 30_000;

/**
 * Resolves to the front doors that do not open in time, with the reasons. What users are shown must be true, so those that
 * are not expected to open get some time too.
 */
export async function untilDoorsOpen(
  client: KubeClient,
  expected: readonly string[],
  reporter: Reporter,
  signal: AbortSignal,
): Promise<NotReady[]> {
  const open = (names: readonly string[], timeoutMs?: number): Promise<NotReady[]> =>
    untilReady({
      names,
      wait: (onReady, waiting) =>
        untilOpen(
          client,
          names,
          ({ name, urls }) => onReady(name, `front door ${name} is ready at ${urls.join(', ')}`),
          waiting,
        ),
      explain: (name) => explainDoor(client, name),
      reporter,
      signal,
      timeoutMs,
    });
  const notReady = await open(expected);
  return notReady.length > 0 ? notReady : open(await closedDoors(client), UNEXPECTED_DOORS_MS);
}

const PAUSE_MS = 100;

/**
 * Resolves when every named front door answers; calls `onOpen` once for each. Rejects with the signal's reason. The
 * objects are watched, so that a wait costs the API server nothing while the machine is busy with the start.
 */
async function untilOpen(
  client: KubeClient,
  names: readonly string[],
  onOpen: (door: FrontDoor) => void,
  signal: AbortSignal,
): Promise<void> {
  const waiting = new Set(names);
  const routers = new Informer(client, L7_ROUTERS);
  const ingresses = new Informer(client, INGRESSES);
  const { controller: watching, release } = childController(signal);
  const running = Promise.all([routers.run(watching.signal), ingresses.run(watching.signal)]);
  try {
    while (waiting.size > 0) {
      const objects = routers.cache.list();
      for (const door of frontDoors(objects, routeReports(ingresses.cache.list(), objects))) {
        if (!waiting.has(door.name) || !(await isOpen(door))) continue;
        waiting.delete(door.name);
        onOpen(door);
      }
      if (waiting.size > 0) await sleep(systemClock, PAUSE_MS, signal);
    }
  } finally {
    watching.abort();
    release();
    await running;
  }
}

/** Its own router answers at every URL, and its sample request gets a response other than a server error. */
export async function isOpen(door: FrontDoor): Promise<boolean> {
  if (sampleRequest(door) === undefined) return false;
  if ((await silentUrls(door)).length > 0) return false;
  const answer = await sampleAnswer(door);
  return answer !== undefined && answer.status < 500;
}

/** The URLs where its own router does not answer. Node ports open one node after the other. */
async function silentUrls({ urls, identity }: FrontDoor): Promise<string[]> {
  const answers = await Promise.all(urls.map((url) => whoAnswers(url, identity)));
  return answers.filter(({ from }) => from !== 'router').map(({ url }) => url);
}

/** Why a front door is not open. */
async function explainDoor(client: KubeClient, name: string): Promise<NotReady> {
  const seen = await readObjects(client);
  const door = seen && doorsOf(seen).find((each) => each.name === name);
  const answer = door && (await sampleAnswer(door));
  return doorNotReady(name, seen, {
    ...(answer !== undefined && answer.status >= 500 && { failure: answer }),
    silent: door === undefined ? [] : await silentUrls(door),
  });
}

/** The front doors with a sample request, which users are shown, that does not get a proper response. */
async function closedDoors(client: KubeClient): Promise<string[]> {
  const doors = (await readFrontDoors(client)).filter((door) => sampleRequest(door) !== undefined);
  const open = await Promise.all(doors.map(isOpen));
  return doors.filter((_, i) => !open[i]).map(({ name }) => name);
}
