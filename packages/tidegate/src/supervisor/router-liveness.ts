/**
 * Asks routers at intervals whether they still respond, as `child.ts` does for the processes of the supervisor. The nginx
 * of a router that hangs serves on, but knows of no change any more. The kubelet would restart the router too, but only
 * after two minutes, and without an explanation.
 */
import { quotePath } from '@tidegate/disk';
import { signalOne } from '@tidegate/envtest/node';
import { type Clock, type Pod, systemClock } from '@tidegate/kube';
import { ROUTER_LABEL } from '../api/index.ts';
import { untilAnswered } from './http.ts';
import { Liveness, PATIENCE_SECONDS } from './liveness.ts';
import { allRouterPods, ROUTER_CONTAINER, routerLog } from './router-pods.ts';
import type { StateDirectory } from './state.ts';

/** One run of a router. */
interface Run {
  containerID: string;
  name: string;
  log: string;
  url: string;
}

export class RouterLiveness {
  readonly #state: StateDirectory;
  readonly #report: (line: string) => void;
  readonly #clock: Clock;
  /** By the UID of the pod. */
  readonly #watched = new Map<string, { run: Run; liveness: Liveness }>();
  readonly #hung = new Set<string>();

  constructor(state: StateDirectory, report: (line: string) => void, clock: Clock = systemClock) {
    this.#state = state;
    this.#report = report;
    this.#clock = clock;
  }

  /** Why the run with this ID was killed here; undefined if it was not. */
  reasonOf(containerID: string | undefined): string | undefined {
    return containerID !== undefined && this.#hung.has(containerID)
      ? `it did not respond for ${PATIENCE_SECONDS} s and was killed`
      : undefined;
  }

  /** A pod has changed. */
  follow(pod: Pod): void {
    const uid = `${pod.metadata.uid}`;
    const run = runOf(this.#state, pod);
    if (run?.containerID === this.#watched.get(uid)?.run.containerID) return;
    this.forget(pod);
    if (run === undefined) return;
    const { name, log, url } = run;
    const liveness = new Liveness(
      {
        ask: () => untilAnswered({ url }),
        onSilent: () =>
          this.#report(
            `router ${name} does not respond; it is restarted if that lasts for ${PATIENCE_SECONDS} s (log: ${quotePath(log)})`,
          ),
        onAnswer: () => this.#report(`router ${name} responds again`),
        giveUp: () => this.#kill(pod, run),
      },
      this.#clock,
    );
    this.#watched.set(uid, { run, liveness });
    liveness.start();
  }

  /** The pod is gone, or its router runs no longer. */
  forget({ metadata }: Pod): void {
    const uid = `${metadata.uid}`;
    this.#watched.get(uid)?.liveness.stop();
    this.#watched.delete(uid);
  }

  close(): void {
    for (const { liveness } of this.#watched.values()) liveness.stop();
    this.#watched.clear();
  }

  /** The node restarts it. */
  #kill({ metadata }: Pod, { containerID }: Run): void {
    const pod = `${metadata.namespace}/${metadata.name}`;
    const pid = allRouterPods(this.#state).find((each) => each.pod === pod)?.pid;
    if (pid === undefined) return;
    this.#hung.add(containerID);
    signalOne(pid, 'SIGKILL');
  }
}

/** Undefined unless the router of the pod runs and has been ready: until then, its start is reported. */
function runOf(state: StateDirectory, { metadata, spec, status }: Pod): Run | undefined {
  const container = status?.containerStatuses?.find(({ name }) => name === ROUTER_CONTAINER);
  const ports = spec?.containers.flatMap((each) => each.ports ?? []) ?? [];
  const admin = ports.find(({ name }) => name === 'admin')?.containerPort;
  const { podIP } = status ?? {};
  if (metadata.deletionTimestamp !== undefined || admin === undefined || podIP === undefined)
    return undefined;
  if (container?.state?.running === undefined || container.started !== true) return undefined;
  return {
    containerID: `${container.containerID}`,
    name: metadata.labels?.[ROUTER_LABEL] ?? '',
    log: routerLog(state, spec?.nodeName ?? '', `${metadata.uid}`, container.restartCount ?? 0),
    url: `http://${podIP}:${admin}/healthz`,
  };
}
