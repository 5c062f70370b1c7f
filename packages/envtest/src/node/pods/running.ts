import { type Clock, sleep } from '@tidegate/kube';
import type { Container } from '../contracts.ts';
import { check } from '../probes/check.ts';
import type { ContainerProbes } from '../probes/container-probes.ts';
import type { Process } from './runtime.ts';

/** Options of {@link RunningContainer}. */
export interface RunningOptions {
  container: Container;
  podIP: string;
  process: Process;
  /** Undefined when the runtime cannot be probed. */
  probes: ContainerProbes | undefined;
  clock: Clock;
  onPreStopFailed(message: string): void;
}

/** A container from its start to its end, and how it is stopped. */
export class RunningContainer {
  readonly #options: RunningOptions;
  readonly #preStop = new AbortController();
  #deadline: number | undefined;
  #cancelKill: () => void = () => {};

  constructor(options: RunningOptions) {
    this.#options = options;
  }

  get process(): Process {
    return this.#options.process;
  }

  get image(): string | undefined {
    return this.#options.container.image;
  }

  get started(): boolean {
    return this.#options.probes?.started ?? true;
  }

  get ready(): boolean {
    return this.#options.probes?.ready ?? true;
  }

  get failedProbe(): 'startup' | 'liveness' | undefined {
    return this.#options.probes?.failed;
  }

  get stopping(): boolean {
    return this.#deadline !== undefined;
  }

  /**
   * Stops the container: preStop hook, SIGTERM, and SIGKILL after the grace period. May be called again; the
   * earliest deadline wins.
   */
  stop(graceMs: number): void {
    const { clock, probes, process } = this.#options;
    const deadline = clock.monotonic() + graceMs;
    const first = this.#deadline === undefined;
    if (!first && deadline >= this.#deadline!) return;
    this.#deadline = deadline;
    this.#cancelKill();
    this.#cancelKill = clock.after(graceMs, () => {
      this.#preStop.abort();
      process.signal('SIGKILL');
    });
    if (!first) return;
    probes?.stopLiveness();
    void this.#terminate(graceMs);
  }

  /** Called when the container has ended. */
  close(): void {
    this.#cancelKill();
    this.#preStop.abort();
    this.#options.probes?.close();
  }

  async #terminate(graceMs: number): Promise<void> {
    await this.#runPreStop(graceMs);
    if (!this.#preStop.signal.aborted) this.process.signal('SIGTERM');
  }

  /** The hook runs within the grace period, not before it. */
  async #runPreStop(graceMs: number): Promise<void> {
    const { container, podIP, clock, onPreStopFailed } = this.#options;
    const hook = container.lifecycle?.preStop;
    if (hook?.sleep !== undefined) {
      await sleep(clock, hook.sleep.seconds * 1000, this.#preStop.signal).catch(() => {}); // Rejects when aborted.
    } else if (hook?.httpGet !== undefined || hook?.tcpSocket !== undefined) {
      const { ok, output } = await check(hook, container, podIP, graceMs);
      if (!ok) onPreStopFailed(`PreStopHook failed: ${output}`);
    } else if (hook?.exec !== undefined) {
      onPreStopFailed('PreStopHook was not run: exec hooks are not supported in this cluster');
    }
  }
}
