import type { Clock } from '@tidegate/kube';
import type { Container, Inside } from '../contracts.ts';
import type { ContainerProbes } from '../probes/container-probes.ts';
import { type HookProblem, runHook } from './hooks.ts';
import type { Process } from './runtime.ts';

/** Options of {@link RunningContainer}. */
export interface RunningOptions {
  container: Container;
  podIP: string;
  process: Process;
  /** Undefined when the container does not run its own command. */
  inside: Inside | undefined;
  /** Undefined when the runtime cannot be probed. */
  probes: ContainerProbes | undefined;
  clock: Clock;
  /** Records an event. */
  warn(reason: string, message: string): void;
  /** The postStart hook has ended. */
  onChange(): void;
}

/** Kubernetes has no limit for postStart hooks. This one only guards against a hook that hangs forever. */
const POST_START_MS = 24 * 3600 * 1000;

/** A container from its start to its end, and how it is stopped. */
export class RunningContainer {
  readonly #options: RunningOptions;
  readonly #ending = new AbortController();
  #postStart: 'none' | 'running' | 'failed' = 'none';
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
    return this.#postStart === 'none' && (this.#options.probes?.started ?? true);
  }

  get ready(): boolean {
    return this.#options.probes?.ready ?? true;
  }

  get failedProbe(): 'startup' | 'liveness' | undefined {
    return this.#options.probes?.failed;
  }

  get hookFailed(): boolean {
    return this.#postStart === 'failed';
  }

  get stopping(): boolean {
    return this.#deadline !== undefined;
  }

  /** Runs the postStart hook. The container has not started before it has ended. */
  begin(): void {
    const hook = this.#options.container.lifecycle?.postStart;
    if (hook === undefined) return;
    this.#postStart = 'running';
    void runHook(hook, this.#hookContext(POST_START_MS)).then((problem) => {
      const isFailed = problem !== undefined && 'failed' in problem;
      this.#postStart = isFailed ? 'failed' : 'none';
      if (this.#ending.signal.aborted) return;
      this.#warn('PostStart', problem);
      this.#options.onChange();
    });
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
      this.#ending.abort();
      process.signal('SIGKILL');
    });
    if (!first) return;
    probes?.stopLiveness();
    void this.#terminate(graceMs);
  }

  /** Called when the container has ended. */
  close(): void {
    this.#cancelKill();
    this.#ending.abort();
    this.#options.probes?.close();
  }

  /** The hook runs within the grace period, not before it. */
  async #terminate(graceMs: number): Promise<void> {
    const hook = this.#options.container.lifecycle?.preStop;
    this.#warn('PreStop', await runHook(hook, this.#hookContext(graceMs)));
    if (!this.#ending.signal.aborted) this.process.signal('SIGTERM');
  }

  #hookContext(timeoutMs: number): Parameters<typeof runHook>[1] {
    const { container, podIP, inside, clock } = this.#options;
    return { container, podIP, inside, clock, timeoutMs, signal: this.#ending.signal };
  }

  #warn(hook: 'PostStart' | 'PreStop', problem: HookProblem): void {
    if (problem === undefined) return;
    const text = 'failed' in problem ? `failed: ${problem.failed}` : `was not run: ${problem.notRun}`;
    this.#options.warn(`Failed${hook}Hook`, `${hook}Hook ${text}`);
  }
}
