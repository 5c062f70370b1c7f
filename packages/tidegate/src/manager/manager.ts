import { setMaxListeners } from 'node:events';
import { childController, LeadershipLostError, type Logger, systemClock } from '@tidegate/kube';
import { HealthServer } from '@tidegate/serving';
import { followTargetLabels } from '../apps/index.ts';
import { serveAdmission } from './admission.ts';
import { withCaches } from './caches.ts';
import { lead } from './controllers.ts';
import { ensureNamespaces, installDefinitions } from './install.ts';
import { isLed, PARTS } from './names.ts';
import type { ManagerOptions } from './options.ts';
import { untilAccepted } from './until-accepted.ts';
import { Waiting } from './waiting.ts';

/** Runs until the signal is aborted and all parts have stopped. Rejects on a fatal error; the caller should restart it. */
export async function runManager(options: ManagerOptions): Promise<void> {
  const { client, clock = systemClock, signal, metrics, log } = options;
  const waiting = new Waiting(client.config.server, { clock, log });
  /** Why the manager is not ready. Empty if it is. */
  let missing = new Set(['the manager is starting']);
  // Not ready as soon as it stops, so that the Service sends no more requests to this manager.
  const reasons = (): string[] => {
    if (signal.aborted) return ['the manager is shutting down'];
    return missing.size === 0 ? [] : [...missing, ...waiting.reasons()];
  };
  const server = await HealthServer.listen({
    ...options.health,
    reasons,
    metrics: () => metrics.scrape(),
    log,
  });
  try {
    const ask = (what: string, task: () => Promise<void>): Promise<void> => {
      let trouble: unknown;
      const onFailure = (error: unknown): void => {
        trouble = error;
      };
      const accepted = untilAccepted(what, task, { clock, log, signal, onFailure, waitsForPermission: true });
      return waiting.during(what, accepted, () => trouble);
    };
    await ask('create the namespaces of the manager', () => ensureNamespaces(client, signal));
    if (options.installDefinitions)
      await ask('install the CRDs', () => installDefinitions(client, clock, signal));
    const groups = groupsOf({ ...options, clock }, waiting);
    missing = new Set(groups.map((group) => group.missing));
    await untilOneEnds(
      signal,
      groups.map((group) => (stop) => {
        const onReady = (): void => {
          if (missing.delete(group.missing) && missing.size === 0)
            options.onReady?.({ healthPort: server.port });
        };
        return group.run(onReady, stop);
      }),
    );
  } catch (error) {
    if (!signal.aborted) throw error;
  } finally {
    await server.close();
  }
}

/** Parts that start and stop together. */
interface Group {
  /** Why the manager is not ready before this group is. */
  readonly missing: string;
  run(onReady: () => void, signal: AbortSignal): Promise<void>;
}

/**
 * Admission, and the controllers. They share no caches: controllers that have lost their lease start again with new ones, and
 * admission must not stop for that, because API servers skip rules that do not answer.
 */
function groupsOf(options: Parameters<typeof withCaches>[0], waiting: Waiting): Group[] {
  const { clock, log, parts = PARTS } = options;
  const led = parts.filter(isLed);
  const admission: Group = {
    missing: 'the admission webhook is not ready yet',
    run: (onReady, signal) =>
      withCaches(options, waiting, signal, ({ membership, informers }) => {
        const targets = followTargetLabels(informers);
        const serve = () => serveAdmission(options, { membership, informers, targets }, onReady, signal);
        return untilAccepted('configure the admission webhook', serve, { clock, log, signal });
      }),
  };
  const controllers: Group = {
    missing: 'the controllers have not listed nodes and pools yet',
    run: (onReady, signal) =>
      untilNoLeaseIsLost(
        () =>
          withCaches(options, waiting, signal, (context) => {
            onReady();
            return untilOneEnds(
              signal,
              led.map((part) => (stop) => lead(part, options, context, stop)),
            );
          }),
        log,
      ),
  };
  return [...(parts.includes('admission') ? [admission] : []), ...(led.length > 0 ? [controllers] : [])];
}

/**
 * Runs the controllers, and runs them again if one has lost its lease, for example because the API server was busy for ten seconds.
 * That is safe: the elector reports it when all controllers have stopped, and they start with new caches when the lease is
 * acquired.
 */
async function untilNoLeaseIsLost(run: () => Promise<void>, log: Logger): Promise<void> {
  for (;;) {
    try {
      return await run();
    } catch (error) {
      if (!(error instanceof LeadershipLostError)) throw error;
      log.warn({ err: error }, 'a lease is lost; the controllers have stopped, and start again');
    }
  }
}

/** Runs the parts until the signal is aborted. If one of them ends earlier, the others are stopped too. The first error counts. */
async function untilOneEnds(
  signal: AbortSignal,
  parts: readonly ((signal: AbortSignal) => Promise<void>)[],
): Promise<void> {
  const { controller, release } = childController(signal);
  // Every controller adds a listener, which would exceed the default limit.
  setMaxListeners(0, controller.signal);
  const errors: unknown[] = [];
  await Promise.all(
    parts.map((part) =>
      part(controller.signal)
        .catch((error: unknown) => errors.push(error))
        .finally(() => controller.abort()),
    ),
  );
  release();
  // The others fail because they are stopped.
  if (errors.length > 0) throw errors[0];
}
