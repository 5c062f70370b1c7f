import { randomBytes } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import {
  backoffDelay,
  type Clock,
  type EventRecorder,
  type KubeClient,
  type Logger,
  ownField,
  type Pod,
} from '@tidegate/kube';
import type { Container } from '../contracts.ts';
import { Alarm } from './alarm.ts';
import { withOwnConditions } from './conditions.ts';
import { podText, pullErrorEnds } from './container-status.ts';
import { RunningContainers } from './containers.ts';
import { activeMs, DEADLINE_EXCEEDED } from './deadline.ts';
import type { Lanes } from './lanes.ts';
import { allContainers, nextSteps, restarts } from './lifecycle.ts';
import {
  crashDelay,
  exited,
  newContainer,
  newPod,
  nextRestartCount,
  notStarted,
  type PodRecord,
  started,
  startFailed,
} from './record.ts';
import { PodReporter } from './reporter.ts';
import {
  type Launched,
  type Runtime,
  StartError,
  setUpProblem,
  startProblems,
  syncProblem,
} from './runtime.ts';
import { isOver, type PodStatus, podStatus } from './status.ts';

/** What the workers of all pods share. */
export interface WorkerContext {
  client: KubeClient;
  /** Limits concurrent status writes; shared by all pods that use the same connection. */
  lanes: Lanes;
  runtime: Runtime;
  recorder: Pick<EventRecorder, 'normal' | 'warning'>;
  hostIP: string;
  clock: Clock;
  log: Logger;
}

/** What the worker works towards. */
type Goal = 'run' | 'end' | 'vanish' | 'interrupt';

const SET_UP_RETRY = { baseMs: 1_000, maxMs: 30_000 };
/** A new node gets its podCIDR within moments. */
const NETWORK_RETRY = { baseMs: 100, maxMs: 1_000 };
const SYNC_RETRY = { baseMs: 500, maxMs: 30_000 };

/**
 * Manages one pod. It does one thing at a time, and always decides from the complete current state: what is wanted
 * and what is there. Whatever happens (the pod changes, a process ends, a probe changes its result, a timer fires)
 * only wakes the worker, which then looks at everything again.
 */
export class PodWorker {
  readonly #context: WorkerContext;
  readonly #log: Logger;
  readonly #alarm: Alarm;
  readonly #reporter: PodReporter;
  readonly #containers: RunningContainers;
  readonly #onFinished: () => void;
  #pod: Pod | undefined;
  #record: PodRecord;
  #status: PodStatus | undefined;
  #gone: boolean;
  #interrupted: { graceMs: number; ended: () => void } | undefined;
  #adopted: boolean;
  /** Whether this agent has set up the address and the volumes; an earlier agent may have done so before. */
  #isSetUp = false;
  #setUpFailures = 0;
  #setUpAt = 0;
  #released = false;
  #closed = false;
  #working: Promise<void> | undefined;
  #again = false;
  #failures = 0;

  /** Without `pod`, the pod no longer exists in the API, and only its record is left. */
  constructor(context: WorkerContext, known: { pod?: Pod; record?: PodRecord }, onFinished: () => void) {
    const { clock, runtime } = context;
    this.#context = context;
    this.#pod = known.pod;
    this.#gone = known.pod === undefined;
    this.#adopted = known.record === undefined;
    this.#record = known.record ?? newPod(known.pod!, clock.now());
    this.#onFinished = onFinished;
    this.#log = context.log.child({ pod: `${this.#record.namespace}/${this.#record.name}` });
    this.#alarm = new Alarm(clock, () => this.wake());
    this.#reporter = new PodReporter(context.client, { lanes: context.lanes, clock, log: this.#log });
    this.#containers = new RunningContainers({
      probes: runtime.probes,
      clock,
      log: this.#log,
      onChange: () => this.wake(),
      warn: (reason, message) => this.#event('warning', reason, message),
      notify: (reason, message) => this.#event('normal', reason, message),
    });
    this.wake();
  }

  /** The pod with its latest status. */
  get pod(): Pod | undefined {
    if (this.#pod === undefined) return undefined;
    return { ...this.#pod, status: { ...this.#pod.status, ...this.#status } };
  }

  update(pod: Pod): void {
    // Volumes may contain labels and annotations, so they have to be written again.
    if (!isDeepStrictEqual(describing(this.#pod), describing(pod))) this.#isSetUp = false;
    this.#pod = pod;
    this.wake();
  }

  gone(last: Pod): void {
    this.#pod = last;
    this.#gone = true;
    this.wake();
  }

  /**
   * Called when the agent stops: stops the containers too. The pod stays in the API, and the next agent starts it
   * again.
   */
  async interrupt(graceMs: number): Promise<void> {
    if (this.#closed) return;
    await new Promise<void>((ended) => {
      this.#interrupted = { graceMs, ended };
      this.wake();
    });
    await this.#working;
    this.#close();
    await this.#reporter.close();
  }

  /** Starts a pass, or requests another one after the current pass. Passes of one pod never overlap. */
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
    this.#alarm.clear();
    try {
      await this.#sync();
      this.#failures = 0;
    } catch (error) {
      this.#log.error({ err: error }, 'cannot sync the pod; will retry');
      // Users look at the pod first, not at the log of its node.
      const { directory } = this.#context.runtime.place(this.#record.uid);
      this.#event('warning', 'FailedSync', syncProblem(directory, error));
      this.#alarm.after(backoffDelay(this.#failures++, SYNC_RETRY, Math.random));
    }
  }

  async #sync(): Promise<void> {
    await this.#adopt();
    await this.#takeExits();
    await this.#checkDeadline();
    switch (this.#goal()) {
      case 'run':
        return this.#run(this.#pod!);
      case 'end':
        return this.#end(this.#pod!);
      case 'vanish':
        return this.#vanish();
      case 'interrupt':
        return this.#interrupt();
    }
  }

  /** A pod whose containers have all ended for good is treated like a deleted one: its resources are released. */
  #goal(): Goal {
    if (this.#interrupted !== undefined) return 'interrupt';
    const pod = this.#pod;
    if (this.#gone || pod === undefined) return 'vanish';
    if (pod.metadata.deletionTimestamp !== undefined) return 'end';
    if (this.#record.expired) return 'end';
    return isOver(podStatus(pod, this.#observed(false)).phase) ? 'end' : 'run';
  }

  /** Decides once that the pod was active for too long: the record must not depend on how its containers then exit. */
  async #checkDeadline(): Promise<void> {
    if (this.#goal() !== 'run') return;
    const leftMs = activeMs(this.#pod!, this.#record, this.#context.clock.now());
    if (leftMs === undefined) return;
    if (leftMs > 0) return this.#alarm.after(leftMs);
    this.#record.expired = true;
    await this.#save();
    this.#event('normal', DEADLINE_EXCEEDED.reason, DEADLINE_EXCEEDED.message);
  }

  /**
   * Takes over the containers that an earlier agent started: they are still running, or ended without being
   * observed.
   */
  async #adopt(): Promise<void> {
    if (this.#adopted) return;
    const { runtime } = this.#context;
    const { uid, podIP = '', containers } = this.#record;
    for (const [name, record] of Object.entries(containers)) {
      const { state } = record;
      if (state.type !== 'running') continue;
      const container = this.#container(name);
      const place = runtime.place(uid).container(name);
      const process = await runtime.adopt({ container, record, place, handle: state.process });
      if (process === undefined) this.#containers.lost(name, {});
      else {
        const startedAt = Date.parse(state.startedAt);
        this.#containers.attend({ container: container ?? { name }, podIP, process, startedAt });
      }
    }
    this.#adopted = true;
  }

  /** Moves ended containers to `terminated` in the record, before anything is decided from it. */
  async #takeExits(): Promise<void> {
    const exits = this.#containers.takeExits();
    if (exits.length === 0) return;
    for (const { name, exit } of exits) {
      const record = this.#record.containers[name]!;
      const interrupted = this.#interrupted !== undefined;
      this.#record.containers[name] = exited(record, exit, this.#context.clock.now(), interrupted);
      this.#log.info({ container: name, ...exit }, 'container ended');
      if (exit.advice !== undefined) this.#event('warning', 'PortNotAllowed', exit.advice);
      if (this.#willBackOff(name)) {
        const pod = podText(this.#pod!);
        this.#event('warning', 'BackOff', `Back-off restarting failed container ${name} in pod ${pod}`);
      }
    }
    await this.#save();
  }

  #willBackOff(name: string): boolean {
    const container = this.#container(name);
    const { state, crashes } = this.#record.containers[name]!;
    if (container === undefined || state.type !== 'terminated' || this.#goal() !== 'run') return false;
    return restarts(this.#pod!.spec!, container, state.terminated.exitCode) && crashDelay(crashes) > 0;
  }

  async #run(pod: Pod): Promise<void> {
    await this.#setUp(pod);
    const { podIP } = this.#record;
    if (podIP !== undefined) await this.#runContainers(pod, podIP);
    this.#report();
  }

  async #runContainers(pod: Pod, podIP: string): Promise<void> {
    const now = this.#context.clock.now();
    this.#containers.stopUnfit(pod, this.#record, this.#graceMs());
    const isStarted = (name: string): boolean => this.#containers.isStarted(name);
    const { start, wakeAt } = nextSteps(pod.spec!, this.#record, isStarted, now);
    for (const container of start) await this.#start(pod, container, podIP);
    // A started container may allow others to start.
    if (start.length > 0) this.#again = true;
    for (const at of [wakeAt, pullErrorEnds(this.#record, now)]) {
      if (at !== undefined) this.#alarm.after(at - now);
    }
  }

  /** Sets up address and volumes. Containers that were already running before this agent do not wait for it. */
  async #setUp(pod: Pod): Promise<void> {
    const { runtime, clock } = this.#context;
    if (this.#isSetUp) return;
    const waitMs = this.#setUpAt - clock.monotonic();
    if (waitMs > 0) return this.#alarm.after(waitMs);
    try {
      const { podIP } = await runtime.setUp(pod);
      this.#isSetUp = true;
      this.#setUpFailures = 0;
      this.#record.podIP = podIP;
      await this.#save();
    } catch (error) {
      const { reason, message } = setUpProblem(error);
      this.#event('warning', reason, message);
      const backoff = reason === 'NetworkNotReady' ? NETWORK_RETRY : SET_UP_RETRY;
      const retryMs = backoffDelay(this.#setUpFailures++, backoff, Math.random);
      this.#setUpAt = clock.monotonic() + retryMs;
      this.#alarm.after(retryMs);
    }
  }

  /** Starts one container. The record is saved before the events, so that a restarted agent finds the process. */
  async #start(pod: Pod, container: Container, podIP: string): Promise<void> {
    const { runtime, clock } = this.#context;
    const { name, image = '' } = container;
    const record = ownField(this.#record.containers, name) ?? newContainer(image);
    const containerID = `tidegate://${randomBytes(32).toString('hex')}`;
    let launched: Launched;
    try {
      const attempt = { containerID, podIP, restartCount: nextRestartCount(record) };
      launched = await runtime.start(pod, container, attempt);
    } catch (error) {
      if (!(error instanceof StartError)) throw error;
      const { reason, message } = error;
      this.#record.containers[name] =
        reason === 'StartError'
          ? notStarted(record, { containerID, image, message }, clock.now())
          : startFailed({ ...record, image }, { reason, message }, clock.now());
      await this.#save();
      for (const [type, why, text] of startProblems(container, error)) this.#event(type, why, text);
      return;
    }
    const { process, imageID, note, listensOn, inside } = launched;
    const launch = { process: process.handle, containerID, image, imageID };
    this.#record.containers[name] = started(record, launch, clock.now());
    this.#containers.attend({
      container,
      podIP,
      process,
      inside,
      startedAt: clock.now(),
      listensOn,
      isNew: true,
    });
    await this.#save();
    this.#event('normal', 'Pulled', note);
    this.#event('normal', 'Created', `Created container: ${name}`);
    this.#event('normal', 'Started', `Started container ${name}`);
  }

  /** Stops all containers, then releases address and volumes, and finally lets the reporter delete the pod object. */
  async #end(pod: Pod): Promise<void> {
    const ended = this.#containers.stopAll(this.#graceMs());
    if (ended && !this.#released) {
      await this.#context.runtime.release(this.#record.uid);
      this.#released = true;
    }
    this.#report({ ended, remove: ended && pod.metadata.deletionTimestamp !== undefined });
  }

  /** The pod no longer exists in the API: stops its containers and removes every trace of it. */
  async #vanish(): Promise<void> {
    if (!this.#containers.stopAll(this.#graceMs())) return;
    await this.#reporter.close();
    await this.#context.runtime.remove(this.#record.uid);
    this.#close();
    this.#onFinished();
  }

  async #interrupt(): Promise<void> {
    const { graceMs, ended } = this.#interrupted!;
    if (this.#containers.stopAll(Math.min(graceMs, this.#graceMs()))) ended();
  }

  #close(): void {
    this.#closed = true;
    this.#alarm.clear();
    this.#interrupted?.ended();
  }

  /** The grace period of the deletion, or otherwise that of the pod. */
  #graceMs(): number {
    const metadata = this.#pod?.metadata;
    const deleting = metadata?.deletionTimestamp !== undefined;
    const seconds = deleting ? metadata.deletionGracePeriodSeconds : undefined;
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
      isStarted: (name) => this.#containers.isStarted(name),
      isReady: (name) => this.#containers.isReady(name),
      ending,
      now: this.#context.clock.now(),
    };
  }

  #container(name: string): Container | undefined {
    const spec = this.#pod?.spec;
    return spec === undefined ? undefined : allContainers(spec).find((container) => container.name === name);
  }

  /** Without a pod object there is nothing to attach an event to. */
  #event(type: 'normal' | 'warning', reason: string, message: string): void {
    if (this.#pod !== undefined) this.#context.recorder[type](this.#pod, reason, message);
  }

  async #save(): Promise<void> {
    await this.#context.runtime.save(this.#record);
  }
}

const describing = (pod: Pod | undefined): unknown => [pod?.metadata.labels, pod?.metadata.annotations];
