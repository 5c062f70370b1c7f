/** Waits for front doors that are expected to open. */
import { childController, INGRESSES, Informer, type KubeClient, sleep, systemClock } from '@tidegate/kube';
import { L7_ROUTERS } from '../api/index.ts';
import { type FrontDoor, frontDoors, sampleRequest } from './front-doors.ts';
import { httpGet } from './http.ts';
import { readObjects } from './objects.ts';
import { whoAnswers } from './router-identity.ts';
import { routeReports } from './routes.ts';

export async function readFrontDoors(client: KubeClient): Promise<FrontDoor[]> {
  const seen = await readObjects(client);
  return seen === undefined ? [] : frontDoors(seen.routers, routeReports(seen.ingresses, seen.routers));
}

const PAUSE_MS = 100;

/**
 * Resolves when every named front door answers; calls `onOpen` once for each. Rejects with the signal's reason. The
 * objects are watched, so that a wait costs the API server nothing while the machine is busy with the start.
 */
export async function untilOpen(
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

/** Its own router answers, and its sample request gets a response other than a server error. */
async function isOpen(door: FrontDoor): Promise<boolean> {
  const target = sampleRequest(door);
  if (target === undefined) return false;
  if ((await whoAnswers(target.url, door.identity)).from !== 'router') return false;
  const answer = await httpGet(target.url, target.host);
  return answer !== undefined && answer.status < 500;
}
