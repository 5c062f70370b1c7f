import { type Clock, type Logger, ownField, type Pod } from '@tidegate/kube';
import type { Container, Inside } from '../contracts.ts';
import { ContainerProbes } from '../probes/container-probes.ts';
import { isSidecar } from './lifecycle.ts';
import type { Exit, PodRecord } from './record.ts';
import { RunningContainer } from './running.ts';
import type { Process } from './runtime.ts';

/** What all containers of a pod share. `warn` and `notify` record events for the pod. */
export interface ContainersOptions {
  /** Whether containers can be probed. */
  probes: boolean;
  clock: Clock;
  log: Logger;
  /** Called when a container has ended or a probe has changed its result. */
  onChange(): void;
  warn(reason: string, message: string): void;
  notify(reason: string, message: string): void;
}

interface Subject {
  container: Container;
  podIP: string;
  process: Process;
  /** This agent has just started it, so its postStart hook is due. */
  isNew?: boolean;
  startedAt: number;
  listensOn?: number | undefined;
  inside?: Inside | undefined;
}

/** A minimum grace period, also for pods deleted with grace period 0 and for sidecars that are stopped last. */
const MIN_GRACE_MS = 1_000;

/** The running containers of one pod. */
export class RunningContainers {
  readonly #options: ContainersOptions;
  readonly #running = new Map<string, { container: Container; running: RunningContainer }>();
  readonly #exits: { name: string; exit: Exit }[] = [];
  #stoppedSince: number | undefined;

  constructor(options: ContainersOptions) {
    this.#options = options;
  }

  isStarted(name: string): boolean {
    return this.#running.get(name)?.running.started ?? false;
  }

  isReady(name: string): boolean {
    return this.#running.get(name)?.running.ready ?? false;
  }

  /** Supervises a container that was just started or adopted. */
  attend(subject: Subject): void {
    const { clock, warn, onChange } = this.#options;
    const { container, podIP, process, inside } = subject;
    const { name } = container;
    const probes = this.#options.probes ? this.#probesOf(subject) : undefined;
    const running = new RunningContainer({
      container,
      podIP,
      process,
      inside,
      probes,
      clock,
      warn,
      onChange,
    });
    this.#running.set(name, { container, running });
    if (subject.isNew === true) running.begin();
    process.exited.then(
      (exit) => this.lost(name, exit),
      (error: unknown) => {
        this.#options.log.error({ err: error, container: name }, 'cannot determine how the container ended');
        this.lost(name, {});
      },
    );
  }

  /** Called when the container has ended. */
  lost(name: string, exit: Exit): void {
    this.#running.get(name)?.running.close();
    this.#running.delete(name);
    this.#exits.push({ name, exit });
    this.#options.onChange();
  }

  /** Returns the containers that have ended since the last call. */
  takeExits(): { name: string; exit: Exit }[] {
    return this.#exits.splice(0);
  }

  /** Stops containers that failed a probe or their postStart hook, or whose image has changed. They are started again after they have ended. */
  stopUnfit(pod: Pod, record: PodRecord, graceMs: number): void {
    this.#stoppedSince = undefined;
    const images = new Map(
      [...(pod.spec?.initContainers ?? []), ...(pod.spec?.containers ?? [])].map((c) => [c.name, c.image]),
    );
    for (const [name, { container, running }] of this.#running) {
      const changed = images.get(name) !== ownField(record.containers, name)?.image;
      const probe = running.failedProbe;
      const hook = running.hookFailed ? 'failed postStart hook' : undefined;
      if (running.stopping || (probe === undefined && hook === undefined && !changed)) continue;
      const why = probe === undefined ? (hook ?? 'definition changed') : `failed ${probe} probe`;
      this.#options.notify('Killing', `Container ${name} ${why}, will be restarted`);
      const own = probe === undefined ? undefined : ownGrace(container, probe);
      running.stop(own === undefined ? graceMs : own * 1000);
    }
  }

  /** Stops all containers, sidecars last. Returns whether none is running any more. */
  stopAll(graceMs: number): boolean {
    const { clock, notify } = this.#options;
    this.#stoppedSince ??= clock.monotonic();
    const left = graceMs - (clock.monotonic() - this.#stoppedSince);
    const all = [...this.#running.values()];
    const served = all.filter(({ container }) => !isSidecar(container));
    for (const { container, running } of served.length > 0 ? served : all) {
      if (!running.stopping) notify('Killing', `Stopping container ${container.name}`);
      running.stop(Math.max(MIN_GRACE_MS, left));
    }
    return all.length === 0;
  }

  #probesOf({ container, podIP, startedAt, listensOn, inside }: Subject): ContainerProbes {
    const { clock, warn, onChange } = this.#options;
    return new ContainerProbes({
      container,
      podIP,
      inside,
      startedAt,
      listensOn,
      clock,
      onChange,
      onUnhealthy: (message) => warn('Unhealthy', message),
      onNotRun: (message) => warn('ProbeNotRun', message),
    });
  }
}

const ownGrace = (container: Container, probe: 'startup' | 'liveness'): number | undefined =>
  (probe === 'startup' ? container.startupProbe : container.livenessProbe)?.terminationGracePeriodSeconds;
