import type { Clock, Logger, Pod } from '@tidegate/kube';
import type { Container } from '../contracts.ts';
import { ContainerProbes } from '../probes/container-probes.ts';
import { isSidecar } from './lifecycle.ts';
import type { Exit, PodRecord } from './record.ts';
import { RunningContainer } from './running.ts';
import type { Process } from './runtime.ts';

export interface ContainersOptions {
  /** Whether there is something to probe. */
  probes: boolean;
  clock: Clock;
  log: Logger;
  /** Something has changed: an end, a verdict of a probe. */
  onChange(): void;
  warn(reason: string, message: string): void;
  tell(reason: string, message: string): void;
}

interface Subject {
  container: Container;
  podIP: string;
  process: Process;
  startedAt: number;
  listensOn?: number | undefined;
}

/** What was deleted by force, or ends after the grace of others is used up, gets a moment to end by itself. */
const LEAST_GRACE_MS = 1_000;

/** The containers of one pod that run now. */
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

  attend(subject: Subject): void {
    const { clock, warn } = this.#options;
    const { container, podIP, process } = subject;
    const { name } = container;
    const probes = this.#options.probes ? this.#probesOf(subject) : undefined;
    const onPreStopFailed = (message: string): void => warn('FailedPreStopHook', message);
    const running = new RunningContainer({ container, podIP, process, probes, clock, onPreStopFailed });
    this.#running.set(name, { container, running });
    process.exited.then(
      (exit) => this.lost(name, exit),
      (error: unknown) => {
        this.#options.log.error({ err: error, container: name }, 'how the container ended can not be told');
        this.lost(name, {});
      },
    );
  }

  /** The container has ended. */
  lost(name: string, exit: Exit): void {
    this.#running.get(name)?.running.close();
    this.#running.delete(name);
    this.#exits.push({ name, exit });
    this.#options.onChange();
  }

  /** What has ended since this was last asked. */
  takeExits(): { name: string; exit: Exit }[] {
    return this.#exits.splice(0);
  }

  /** Ends whatever failed its probe or was given another image: once it has ended, it is started again. */
  stopUnfit(pod: Pod, record: PodRecord, graceMs: number): void {
    this.#stoppedSince = undefined;
    const images = new Map(
      [...(pod.spec?.initContainers ?? []), ...(pod.spec?.containers ?? [])].map((c) => [c.name, c.image]),
    );
    for (const [name, { container, running }] of this.#running) {
      const changed = images.get(name) !== record.containers[name]?.image;
      const probe = running.failedProbe;
      if (running.stopping || (probe === undefined && !changed)) continue;
      const why = probe === undefined ? 'definition changed' : `failed ${probe} probe`;
      this.#options.tell('Killing', `Container ${name} ${why}, will be restarted`);
      const own = probe === undefined ? undefined : ownGrace(container, probe);
      running.stop(own === undefined ? graceMs : own * 1000);
    }
  }

  /** Sidecars end after those they serve. Returns whether nothing runs any more. */
  stopAll(graceMs: number): boolean {
    const { clock, tell } = this.#options;
    this.#stoppedSince ??= clock.monotonic();
    const left = graceMs - (clock.monotonic() - this.#stoppedSince);
    const all = [...this.#running.values()];
    const served = all.filter(({ container }) => !isSidecar(container));
    for (const { container, running } of served.length > 0 ? served : all) {
      if (!running.stopping) tell('Killing', `Stopping container ${container.name}`);
      running.stop(Math.max(LEAST_GRACE_MS, left));
    }
    return all.length === 0;
  }

  #probesOf({ container, podIP, startedAt, listensOn }: Subject): ContainerProbes {
    const { clock, warn, onChange } = this.#options;
    return new ContainerProbes({
      container,
      podIP,
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
