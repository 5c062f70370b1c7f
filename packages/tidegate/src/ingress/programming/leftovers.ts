import { orAborted, sleep } from '@tidegate/kube';
import { L7_ROUTERS } from '../../api/index.ts';
import type { IngressContext } from '../context.ts';
import type { ProvisionerRegistry } from '../provisioners/index.ts';

const EVERY_MS = 3_600_000;
const RETRY_MS = 60_000;

/**
 * Deletes load balancers of routers that do not exist: a user has removed a finalizer, or deleted a router while no
 * manager was running. Their provisioners find them in the cloud, at the start and then every hour. The controller calls
 * `forget` for their names, so that it never overlaps with the creation of a router of the same name.
 */
export async function cleanUpLeftovers(
  { informers, clock, log }: IngressContext,
  registry: ProvisionerRegistry,
  enqueue: (router: string) => void,
  signal: AbortSignal,
): Promise<void> {
  const routers = informers.for(L7_ROUTERS);
  try {
    await orAborted(routers.synced, signal);
  } catch {
    return; // Aborted.
  }
  while (!signal.aborted) {
    let wait = EVERY_MS;
    for (const provisioner of registry.implemented) {
      try {
        for (const name of (await provisioner.routers?.(signal)) ?? [])
          if (routers.cache.get(name) === undefined) enqueue(name);
      } catch (error) {
        if (signal.aborted) return;
        wait = RETRY_MS;
        const { controller } = provisioner;
        log.warn(
          { controller, error: (error as Error).message },
          'cannot look for load balancers without a router',
        );
      }
    }
    try {
      await sleep(clock, wait, signal);
    } catch {
      return; // Aborted.
    }
  }
}
