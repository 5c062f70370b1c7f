import { randomBytes } from 'node:crypto';
import { backoffDelay } from '../../../kube/backoff.ts';
import type { Clock, EventRecorder, KubeClient, Logger, Pod } from '../../../kube/index.ts';
import { type Container, VolumeError } from '../contracts.ts';
import { ContainerProbes } from '../probes/container-probes.ts';
import { PULL_ERROR_SHOWN_MS, podText } from './container-status.ts';
import { allContainers, isSidecar, nextSteps, restarts } from './lifecycle.ts';
import {
  crashDelay,
  type Exit,
  exited,
  newContainer,
  nextRestartCount,
  type PodRecord,
  started,
  startFailed,
  timestamp,
} from './record.ts';
import { PodReporter } from './reporter.ts';
import { RunningContainer } from './running.ts';
import { type Launched, type Process, type Runtime, SetUpError, StartError } from './runtime.ts';
import { isOver, type PodStatus, podStatus } from './status.ts';

export interface WorkerContext {
  client: KubeClient;
  runtime: Runtime;
  recorder: Pick<EventRecorder, 'normal' | 'warning'>;
  hostIP: string;
  clock: Clock;
  log: Logger;
}

/** What is to become of the pod. */
type Goal = 'run' | 'end' | 'vanish' | 'interrupt';

const SET_UP_RETRY = { baseMs: 1_000, maxMs: 30_000 };
const SYNC_RETRY = { baseMs: 500, maxMs: 30_000 };
/** What was deleted by force gets a moment to end by itself. */
const LEAST_GRACE_MS = 1_000;

/**
 * Looks after one pod: one thing at a time, from what is wanted and what is there. Whatever happens (the pod changes,
 * a process ends, a probe changes its mind, time is up) just wakes it, and it looks at everything again.
 */
export class PodWorker {
  readonly #context: WorkerContext;
  readonly #log: Logger;
  readonly #reporter: PodReporter;
  readonly #running = new Map<string, RunningContainer>();
  readonly #exits: { name: string; exit: Exit }[] = [];
  readonly #onFinished: () => void;
  #pod: Pod | undefined;
  #record: PodRecord;
  #status: PodStatus | undefined;
  #gone = false;
  #interrupted: { graceMs: number; ended: () => void } | undefined;
  #adopted: boolean;
  /** This agent has given the pod its address and volumes; an earlier one may have done so, too. */
  #isSetUp = false;
  #setUpFailures = 0;
  #setUpAt = 0;
  #closed = false;
  #released = false;
  #stoppedSince: number | undefined;
  #working: Promise<void> | undefined;
  #again = false;
  #failures = 0;
  #wakeAt: number | undefined;
  #cancelTimer: () => void = () => {};

  /** Of a pod that is not in the API any more there is only a record. */
  constructor(context: WorkerContext, known: { pod?: Pod; record?: PodRecord }, onFinished: () => void) {
    const { pod, record } = known;
    this.#context = context;
    this.#pod = pod;
    this.#gone = pod === undefined;
    this.#adopted = record === undefined;
    this.#record = record ?? newRecord(pod!, context.clock.now());
    this.#onFinished = onFinished;
    this.#log = context.log.child({ pod: `${this.#record.namespace}/${this.#record.name}` });
    this.#reporter = new PodReporter(context.client, { clock: context.clock, log: this.#log });
    this.wake();
  }

  /** As it is known here, with the newest status. */
  get pod(): Pod | undefined {
    if (this.#pod === undefined) return undefined;
    return { ...this.#pod, status: { ...this.#pod.status, ...this.#status } };
  }

  update(pod: Pod): void {
    this.#pod = pod;
    this.wake();
  }

  gone(last: Pod): void {
    this.#pod = last;
    this.#gone = true;
    this.wake();
  }

  /** The agent ends: its containers, too. The pod stays as it is in the API, and is started again by the next agent. */
  async interrupt(graceMs: number): Promise<void> {
    await new Promise<void>((ended) => {
      this.#interrupted = { graceMs, ended };
      this.wake();
    });
    await this.#working;
    this.#close();
    await this.#reporter.close();
  }

  wake(): void {
    if (this.#closed) return;
    if (this.#working !== undefined) {
      this.#again = true;
      return;
    }
    this.#working = this.#work().finally(() => {
      this.#working = undefined;
      if (this.#again) this.wake();
    });
  }

  async #work(): Promise<void> {
    this.#again = false;
    this.#cancelTimer();
    try {
      await this.#sync();
      this.#failures = 0;
    } catch (error) {
      this.#log.error({ err: error }, 'looking after the pod failed; it is tried again');
      this.#wakeAfter(backoffDelay(this.#failures++, SYNC_RETRY, Math.random));
    }
  }

  /** Of several times the earliest counts; whoever wants the others asks again then. */
  #wakeAfter(ms: number): void {
    const at = this.#context.clock.monotonic() + ms;
    if (this.#wakeAt !== undefined && this.#wakeAt <= at) return;
    this.#cancelTimer();
    this.#wakeAt = at;
    const cancel = this.#context.clock.after(Math.max(0, ms), () => this.wake());
    this.#cancelTimer = () => {
      this.#wakeAt = undefined;
      cancel();
    };
  }

  #close(): void {
    this.#closed = true;
    this.#cancelTimer();
  }

  async #sync(): Promise<void> {
    await this.#adopt();
    await this.#takeExits();
    switch (this.#goal()) {
      case 'run':
        await this.#run(this.#pod!);
        this.#report();
        break;
      case 'end':
        await this.#end(this.#pod!);
        break;
      case 'vanish':
        await this.#vanish();
        break;
      case 'interrupt':
        await this.#interrupt();
        break;
    }
  }

  #goal(): Goal {
    if (this.#interrupted !== undefined) return 'interrupt';
    const pod = this.#pod;
    if (this.#gone || pod === undefined) return 'vanish';
    if (pod.metadata.deletionTimestamp !== undefined) return 'end';
    return isOver(podStatus(pod, this.#observed(false)).phase) ? 'end' : 'run';
  }

  /** What an earlier agent started goes on, or has ended unseen. */
  async #adopt(): Promise<void> {
    if (this.#adopted) return;
    const { runtime } = this.#context;
    for (const [name, record] of Object.entries(this.#record.containers)) {
      const { state } = record;
      if (state.type !== 'running' || this.#running.has(name)) continue;
      const place = runtime.place(this.#record.uid).container(name);
      const process = await runtime.adopt({
        pod: this.#pod,
        podIP: this.#record.podIP ?? '',
        container: this.#spec(name),
        record,
        place,
        handle: state.process,
      });
      if (process === undefined) this.#exits.push({ name, exit: {} });
      else this.#attend(name, process, Date.parse(state.startedAt));
    }
    this.#adopted = true;
  }

  async #takeExits(): Promise<void> {
    const { clock, recorder } = this.#context;
    if (this.#exits.length === 0) return;
    for (const { name, exit } of this.#exits.splice(0)) {
      this.#running.get(name)?.close();
      this.#running.delete(name);
      const record = this.#record.containers[name]!;
      const ended = exited(record, exit, clock.now(), this.#interrupted !== undefined);
      this.#record.containers[name] = ended;
      this.#log.info({ container: name, ...exit }, 'a container has ended');
      const pod = this.#pod;
      if (pod === undefined) continue;
      if (exit.advice !== undefined) recorder.warning(pod, 'PortNotAllowed', exit.advice);
      if (this.#willBackOff(pod, name)) {
        recorder.warning(
          pod,
          'BackOff',
          `Back-off restarting failed container ${name} in pod ${podText(pod)}`,
        );
      }
    }
    await this.#save();
  }

  #willBackOff(pod: Pod, name: string): boolean {
    const container = this.#spec(name);
    const { state, crashes } = this.#record.containers[name]!;
    if (container === undefined || state.type !== 'terminated' || this.#goal() !== 'run') return false;
    return restarts(pod.spec!, container, state.terminated.exitCode) && crashDelay(crashes) > 0;
  }

  async #run(pod: Pod): Promise<void> {
    const spec = pod.spec!;
    const { clock } = this.#context;
    this.#stoppedSince = undefined;
    await this.#setUp(pod);
    if (this.#record.podIP === undefined) return;
    this.#restartUnfit(pod);
    const { start, wakeAt } = nextSteps(spec, this.#record, (name) => this.#isStarted(name), clock.now());
    for (const container of start) await this.#start(pod, container, this.#record.podIP);
    if (start.length > 0) this.#again = true;
    for (const at of [wakeAt, this.#pullErrorEnds()]) {
      if (at !== undefined) this.#wakeAfter(at - clock.now());
    }
  }

  /** Address and volumes. Containers that ran before this agent do not wait for it. */
  async #setUp(pod: Pod): Promise<void> {
    const { runtime, recorder, clock } = this.#context;
    if (this.#isSetUp) return;
    if (clock.monotonic() < this.#setUpAt) return this.#wakeAfter(this.#setUpAt - clock.monotonic());
    try {
      const { podIP } = await runtime.setUp(pod);
      this.#isSetUp = true;
      this.#setUpFailures = 0;
      this.#record.podIP = podIP;
      await this.#save();
    } catch (error) {
      if (!(error instanceof SetUpError) && !(error instanceof VolumeError)) throw error;
      const reason = error instanceof SetUpError ? error.reason : 'FailedMount';
      recorder.warning(pod, reason, error.message);
      const waitMs = backoffDelay(this.#setUpFailures++, SET_UP_RETRY, Math.random);
      this.#setUpAt = clock.monotonic() + waitMs;
      this.#wakeAfter(waitMs);
    }
  }

  /** Whatever failed its probe or was given another image is ended here, and started again when it has ended. */
  #restartUnfit(pod: Pod): void {
    for (const [name, running] of this.#running) {
      if (running.stopping) continue;
      const container = this.#spec(name);
      const probe = running.failedProbe;
      const changed = container !== undefined && container.image !== this.#record.containers[name]?.image;
      if (probe === undefined && !changed) continue;
      const why = probe === undefined ? 'definition changed' : `failed ${probe} probe`;
      this.#context.recorder.normal(pod, 'Killing', `Container ${name} ${why}, will be restarted`);
      const own = container?.livenessProbe?.terminationGracePeriodSeconds;
      running.stop(probe !== undefined && own !== undefined ? own * 1000 : this.#graceMs());
    }
  }

  async #start(pod: Pod, container: Container, podIP: string): Promise<void> {
    const { runtime, recorder, clock } = this.#context;
    const { name, image = '' } = container;
    const record = this.#record.containers[name] ?? newContainer(image);
    const containerID = `tidegate://${randomBytes(32).toString('hex')}`;
    let launched: Launched;
    try {
      const attempt = { containerID, podIP, restartCount: nextRestartCount(record) };
      launched = await runtime.start(pod, container, attempt);
    } catch (error) {
      if (!(error instanceof StartError)) throw error;
      this.#record.containers[name] = startFailed({ ...record, image }, error, clock.now());
      await this.#save();
      this.#tellFailedStart(pod, container, error);
      return;
    }
    const { process, imageID, note, listensOn } = launched;
    const launch = { process: process.handle, containerID, image, imageID };
    this.#record.containers[name] = started(record, launch, clock.now());
    this.#attend(name, process, clock.now(), listensOn);
    await this.#save();
    recorder.normal(pod, 'Pulled', note);
    recorder.normal(pod, 'Created', `Created container: ${name}`);
    recorder.normal(pod, 'Started', `Started container ${name}`);
  }

  #tellFailedStart(pod: Pod, container: Container, { reason, message }: StartError): void {
    const { recorder } = this.#context;
    if (reason === 'ErrImagePull') {
      const image = JSON.stringify(container.image);
      recorder.warning(pod, 'Failed', `Failed to pull image ${image}: ${message}`);
      recorder.normal(pod, 'BackOff', `Back-off pulling image ${image}`);
    } else recorder.warning(pod, 'Failed', `Error: ${message}`);
  }

  #attend(name: string, process: Process, startedAt: number, listensOn?: number): void {
    const { clock, recorder } = this.#context;
    const container = this.#spec(name) ?? { name };
    const podIP = this.#record.podIP ?? '';
    const warn = (reason: string) => (message: string) => {
      if (this.#pod !== undefined) recorder.warning(this.#pod, reason, message);
    };
    const probes = this.#context.runtime.probes
      ? new ContainerProbes({
          container,
          podIP,
          startedAt,
          ...(listensOn === undefined ? {} : { listensOn }),
          clock,
          onChange: () => this.wake(),
          onUnhealthy: warn('Unhealthy'),
          onNotRun: warn('ProbeNotRun'),
        })
      : undefined;
    const onPreStopFailed = warn('FailedPreStopHook');
    const running = new RunningContainer({ container, podIP, process, probes, clock, onPreStopFailed });
    this.#running.set(name, running);
    const onExit = (exit: Exit): void => {
      this.#exits.push({ name, exit });
      this.wake();
    };
    process.exited.then(onExit, (error: unknown) => {
      this.#log.error({ err: error, container: name }, 'how the container ended can not be told');
      onExit({});
    });
  }

  async #end(pod: Pod): Promise<void> {
    const ended = this.#stopAll(this.#graceMs());
    if (ended && !this.#released) {
      await this.#context.runtime.release(this.#record.uid);
      this.#released = true;
    }
    this.#report({ ended, remove: ended && pod.metadata.deletionTimestamp !== undefined });
  }

  async #vanish(): Promise<void> {
    if (!this.#stopAll(Math.max(LEAST_GRACE_MS, this.#graceMs()))) return;
    await this.#reporter.close();
    await this.#context.runtime.remove(this.#record.uid);
    this.#close();
    this.#onFinished();
  }

  async #interrupt(): Promise<void> {
    const { graceMs, ended } = this.#interrupted!;
    if (this.#stopAll(Math.min(graceMs, this.#graceMs()))) ended();
  }

  /** Sidecars end after those they serve. Returns whether nothing runs any more. */
  #stopAll(graceMs: number): boolean {
    const { clock, recorder } = this.#context;
    this.#stoppedSince ??= clock.monotonic();
    const left = graceMs - (clock.monotonic() - this.#stoppedSince);
    const isServing = (name: string): boolean => {
      const container = this.#spec(name);
      return container !== undefined && isSidecar(container);
    };
    const names = [...this.#running.keys()];
    const others = names.filter((name) => !isServing(name));
    for (const name of others.length > 0 ? others : names) {
      const running = this.#running.get(name)!;
      if (!running.stopping && this.#pod !== undefined) {
        recorder.normal(this.#pod, 'Killing', `Stopping container ${name}`);
      }
      running.stop(Math.max(LEAST_GRACE_MS, left));
    }
    return names.length === 0;
  }

  #graceMs(): number {
    const metadata = this.#pod?.metadata;
    const seconds =
      metadata?.deletionTimestamp === undefined ? undefined : metadata.deletionGracePeriodSeconds;
    return (seconds ?? this.#record.graceSeconds) * 1000;
  }

  #report({ ended = false, remove = false } = {}): void {
    const pod = this.#reporter.newest(this.#pod!);
    this.#status = podStatus(withOwnConditions(pod, this.#status), this.#observed(ended));
    this.#reporter.report({ pod, status: this.#status, remove });
  }

  #observed(ending: boolean): Parameters<typeof podStatus>[1] {
    return {
      record: this.#record,
      hostIP: this.#context.hostIP,
      isStarted: (name) => this.#isStarted(name),
      isReady: (name) => this.#running.get(name)?.ready ?? false,
      ending,
      now: this.#context.clock.now(),
    };
  }

  #isStarted(name: string): boolean {
    return this.#running.get(name)?.started ?? false;
  }

  /** When a failed pull is next shown in another way. */
  #pullErrorEnds(): number | undefined {
    const ends = Object.values(this.#record.containers).map(({ state }) => {
      if (state.type !== 'waiting' || state.failure?.reason !== 'ErrImagePull') return 0;
      return state.failure.at + PULL_ERROR_SHOWN_MS;
    });
    const next = ends.filter((at) => at > this.#context.clock.now());
    return next.length === 0 ? undefined : Math.min(...next);
  }

  #spec(name: string): Container | undefined {
    const spec = this.#pod?.spec;
    return spec === undefined ? undefined : allContainers(spec).find((container) => container.name === name);
  }

  async #save(): Promise<void> {
    await this.#context.runtime.save(this.#record);
  }
}

function newRecord({ metadata, spec }: Pod, now: number): PodRecord {
  return {
    uid: metadata.uid!,
    namespace: metadata.namespace!,
    name: metadata.name!,
    startTime: timestamp(now),
    graceSeconds: spec?.terminationGracePeriodSeconds ?? 30,
    containers: {},
  };
}

/** Since when a condition is what it is, the agent knows best, even while it can not report it. */
function withOwnConditions(pod: Pod, own: PodStatus | undefined): Pod {
  if (own?.conditions === undefined) return pod;
  const types = new Set(own.conditions.map(({ type }) => type));
  const others = (pod.status?.conditions ?? []).filter(({ type }) => !types.has(type));
  return { ...pod, status: { ...pod.status, conditions: [...own.conditions, ...others] } };
}
