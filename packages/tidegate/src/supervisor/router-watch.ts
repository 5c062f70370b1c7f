/**
 * Reports routers that crash or hang. They run in pods, so their nodes restart them and not the supervisor, which learns of it
 * from the status of the pods: while a node is disconnected, only after its link is restored.
 */
import { constants } from 'node:os';
import { quotePath } from '@tidegate/disk';
import { Informer, type KubeClient, PODS, type Pod } from '@tidegate/kube';
import { ROUTER_LABEL } from '../api/index.ts';
import { lastLine } from './exit-reason.ts';
import { RouterLiveness } from './router-liveness.ts';
import { ROUTER_CONTAINER, routerLog } from './router-pods.ts';
import type { StateDirectory } from './state.ts';

type Terminated = NonNullable<
  NonNullable<NonNullable<NonNullable<Pod['status']>['containerStatuses']>[number]['state']>['terminated']
>;

export interface RouterExit {
  router: string;
  node: string;
  why: string;
  /** The number of restarts before the run that ended. */
  run: number;
  containerID?: string;
}

export class RouterWatch {
  readonly #informer: Informer<Pod>;
  readonly #liveness: RouterLiveness;
  readonly #ended = new AbortController();
  #running: Promise<void> = Promise.resolve();

  constructor(client: KubeClient, state: StateDirectory, report: (line: string) => void) {
    this.#informer = new Informer<Pod>(client, PODS, { labelSelector: ROUTER_LABEL });
    const liveness = new RouterLiveness(state, report);
    this.#liveness = liveness;
    this.#informer.addHandler({
      onAdd: (pod) => liveness.follow(pod),
      onUpdate: (before, after) => {
        liveness.follow(after);
        const exit = routerExit(before, after);
        if (exit === undefined) return;
        const { router, node, run } = exit;
        const why = liveness.reasonOf(exit.containerID) ?? exit.why;
        const log = quotePath(routerLog(state, node, `${after.metadata.uid}`, run));
        report(`router ${router} exited: ${why}; ${node} restarts it (log: ${log})`);
      },
      onDelete: (pod) => liveness.forget(pod),
    });
  }

  run(): void {
    this.#running = this.#informer.run(this.#ended.signal);
  }

  async close(): Promise<void> {
    this.#ended.abort();
    await this.#running;
    this.#liveness.close();
  }
}

/** The end of a run that `before` does not show. A pod that is being deleted ends on purpose. */
export function routerExit(before: Pod, after: Pod): RouterExit | undefined {
  const end = lastEnd(after);
  if (end === undefined || after.metadata.deletionTimestamp !== undefined) return undefined;
  if (lastEnd(before)?.terminated.containerID === end.terminated.containerID) return undefined;
  return {
    router: after.metadata.labels?.[ROUTER_LABEL] ?? '',
    node: after.spec?.nodeName ?? '',
    why: reasonOf(end.terminated),
    run: end.run,
    containerID: end.terminated.containerID,
  };
}

function lastEnd({ status }: Pod): { terminated: Terminated; run: number } | undefined {
  const container = status?.containerStatuses?.find(({ name }) => name === ROUTER_CONTAINER);
  const { state, lastState, restartCount = 0 } = container ?? {};
  if (state?.terminated !== undefined) return { terminated: state.terminated, run: restartCount };
  if (lastState?.terminated === undefined) return undefined;
  // A container that waits for its next run has the number of the last one.
  return { terminated: lastState.terminated, run: state?.running ? restartCount - 1 : restartCount };
}

/** The last line of the log explains an exit, but not a kill. */
function reasonOf({ exitCode, reason, message = '' }: Terminated): string {
  if (reason === 'ContainerStatusUnknown') return 'it ended while its node was not running';
  const signal = Object.entries(constants.signals).find(([, number]) => number === exitCode - 128)?.[0];
  return signal === undefined ? (lastLine(message) ?? `exited with code ${exitCode}`) : `killed by ${signal}`;
}
