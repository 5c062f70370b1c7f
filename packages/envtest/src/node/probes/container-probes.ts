import type { Clock } from '@tidegate/kube';
import type * as core from 'kubernetes-types/core/v1.d.ts';
import { wildcardPorts } from '../../machine/index.ts';
import type { Container, Inside } from '../contracts.ts';
import { check } from './check.ts';
import { Probe } from './probe.ts';
import type { ProbeKind } from './result.ts';

/** Options of {@link ContainerProbes}. */
export interface ContainerProbesOptions {
  container: Container;
  podIP: string;
  /** Undefined when the container does not run its own command. */
  inside?: Inside | undefined;
  /** Milliseconds since the epoch. */
  startedAt: number;
  /** A port that must accept connections before the container counts as started. Ignored if it has a startup probe. */
  listensOn?: number | undefined;
  /** The ports that some program listens on at all addresses of the machine. */
  wildcardPorts?: () => ReadonlySet<number>;
  clock: Clock;
  onChange(): void;
  onUnhealthy(message: string): void;
  /** The probe is of a kind that is not supported. */
  onNotRun(message: string): void;
}

/** How often the port of a starting container is tried. */
const LISTENING: Pick<core.Probe, 'periodSeconds'> = { periodSeconds: 0.1 };

/**
 * The probes of one running container. Liveness and readiness probes begin when the container has started, as in the
 * kubelet. Without a startup probe it has started immediately, or when it listens on `listensOn`.
 */
export class ContainerProbes {
  readonly #options: ContainerProbesOptions;
  readonly #startup: Probe | undefined;
  #liveness: Probe | undefined;
  #readiness: Probe | undefined;
  #started = false;
  #closed = false;

  constructor(options: ContainerProbesOptions) {
    this.#options = options;
    const { startupProbe } = options.container;
    this.#startup = startupProbe === undefined ? this.#listening() : this.#probe('Startup', startupProbe);
    if (this.#startup === undefined) this.#begin();
  }

  get started(): boolean {
    return this.#started;
  }

  get ready(): boolean {
    return this.#started && (this.#readiness === undefined || this.#readiness.result === 'success');
  }

  /** The probe because of which the container must be restarted. */
  get failed(): 'startup' | 'liveness' | undefined {
    if (this.#startup?.result === 'failure') return 'startup';
    return this.#liveness?.result === 'failure' ? 'liveness' : undefined;
  }

  /** Called when the container is being stopped: it may end now, but its readiness still matters. */
  stopLiveness(): void {
    this.#startup?.close();
    this.#liveness?.close();
    this.#liveness = undefined;
  }

  close(): void {
    this.#closed = true;
    this.stopLiveness();
    this.#readiness?.close();
  }

  #begin(): void {
    this.#started = true;
    const { livenessProbe, readinessProbe } = this.#options.container;
    this.#liveness = this.#probe('Liveness', livenessProbe);
    this.#readiness = this.#probe('Readiness', readinessProbe);
  }

  /** A substitute for a startup probe that never fails: it only waits until the port accepts connections. */
  #listening(): Probe | undefined {
    const { listensOn, podIP, container, clock } = this.#options;
    if (listensOn === undefined) return undefined;
    return new Probe({
      kind: 'Startup',
      timing: { ...LISTENING, failureThreshold: Number.POSITIVE_INFINITY },
      runningMs: 0,
      check: async () => {
        const outcome = await check(
          { tcpSocket: { port: listensOn } },
          { container, podIP, timeoutMs: 1_000 },
        );
        // A program that listens on all addresses of the machine would answer in place of the container.
        const others = outcome.ok && (this.#options.wildcardPorts ?? wildcardPorts)().has(listensOn);
        return others ? { ok: false, output: `another program listens on port ${listensOn}` } : outcome;
      },
      onFailure: () => {},
      onResultChange: () => this.#onStartup(),
      clock,
    });
  }

  #probe(kind: ProbeKind, probe: core.Probe | undefined): Probe | undefined {
    if (probe === undefined) return undefined;
    const { container, podIP, inside, startedAt, clock, onUnhealthy, onNotRun, onChange } = this.#options;
    if (probe.exec !== undefined && inside === undefined) {
      onNotRun(
        `${kind} probe counts as passed: exec probes run only in containers that run their own command`,
      );
    }
    return new Probe({
      kind,
      timing: probe,
      runningMs: clock.now() - startedAt,
      check: () => check(probe, { container, podIP, inside, timeoutMs: (probe.timeoutSeconds ?? 1) * 1000 }),
      onFailure: (output) => onUnhealthy(`${kind} probe failed: ${output}`),
      onResultChange: () => (kind === 'Startup' ? this.#onStartup() : onChange()),
      clock,
    });
  }

  /** Success starts the other probes. Failure is reported through `failed`, and the worker restarts the container. */
  #onStartup(): void {
    if (this.#closed) return;
    if (this.#startup?.result === 'success') {
      this.#startup.close();
      this.#begin();
    }
    this.#options.onChange();
  }
}
