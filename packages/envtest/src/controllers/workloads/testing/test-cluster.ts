import { setMaxListeners } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  type Clock,
  EventRecorder,
  Informers,
  isAlreadyExists,
  isConflict,
  isNotFound,
  KubeClient,
  type KubeObject,
  loadConfig,
  Metrics,
  NAMESPACES,
  PODS,
  type Pod,
  type Resource,
  SERVICE_ACCOUNTS,
  silentLogger,
  systemClock,
} from '@tidegate/kube';
import type { PodStatus } from 'kubernetes-types/core/v1.d.ts';
import { PATIENCE_MS } from '../../../../../../test/support/patience.ts';
import { startApiServer } from '../../../apiserver/index.ts';
import type { MakeController } from '../../context.ts';

const EVENTS: Resource<KubeObject & { reason: string; message: string }> = {
  group: '',
  version: 'v1',
  resource: 'events',
  namespaced: true,
};

/** The embedded API server with the controllers under test. The test plays the scheduler and the kubelets. */
export class TestCluster {
  readonly client: KubeClient;
  /** The namespace of the test's objects. */
  namespace = 'default';
  readonly #close: () => Promise<void>;
  #namespaces = 0;

  private constructor(client: KubeClient, close: () => Promise<void>) {
    this.client = client;
    this.#close = close;
  }

  static async start(controllers: MakeController[], clock: Clock = systemClock): Promise<TestCluster> {
    const directory = await mkdtemp(join(tmpdir(), 'tidegate-controllers-'));
    const server = await startApiServer({
      directory,
      port: 0,
      log: silentLogger,
      version: 'test',
      podMetrics: true,
    });
    const path = join(directory, 'kubeconfig');
    server.writeAdminKubeconfig(path);
    const client = new KubeClient(await loadConfig({ path, env: {} }), { deadlineMs: PATIENCE_MS });
    const informers = new Informers(client);
    const recorders: EventRecorder[] = [];
    const recorderFor = (component: string): EventRecorder => {
      const recorder = new EventRecorder(client, { component });
      recorders.push(recorder);
      return recorder;
    };
    const context = { client, informers, recorderFor, metrics: new Metrics(), log: silentLogger, clock };
    const made = controllers.map((make) => make(context));
    const stop = new AbortController();
    setMaxListeners(0, stop.signal);
    const running = [informers.run(stop.signal), ...made.map((controller) => controller.run(stop.signal))];
    return new TestCluster(client, async () => {
      stop.abort();
      await Promise.all(running);
      await Promise.all(recorders.map((recorder) => recorder.close()));
      await client.close();
      await server.close();
      await rm(directory, { recursive: true, force: true });
    });
  }

  stop(): Promise<void> {
    return this.#close();
  }

  /** Isolates the next test from objects of earlier ones, without the cost of another server. */
  async useNewNamespace(): Promise<void> {
    const name = `test-${++this.#namespaces}`;
    await this.client.create(NAMESPACES, { apiVersion: 'v1', kind: 'Namespace', metadata: { name } });
    const metadata = { namespace: name, name: 'default' };
    const account = { apiVersion: 'v1', kind: 'ServiceAccount', metadata };
    await this.client.create(SERVICE_ACCOUNTS, account).catch((error) => {
      if (!isAlreadyExists(error)) throw error;
    });
    this.namespace = name;
  }

  target(name: string): { namespace: string; name: string } {
    return { namespace: this.namespace, name };
  }

  create<T extends KubeObject>(resource: Resource<T>, object: T): Promise<T> {
    return this.client.create(resource, object, { namespace: this.namespace });
  }

  get<T extends KubeObject>(resource: Resource<T>, name: string): Promise<T> {
    return this.client.get(resource, { namespace: resource.namespaced ? this.namespace : undefined, name });
  }

  async list<T extends KubeObject>(resource: Resource<T>): Promise<T[]> {
    return (await this.client.list(resource, { namespace: this.namespace })).items;
  }

  /** The pods that are not terminating, sorted by name. */
  async pods(): Promise<Pod[]> {
    const pods = await this.list(PODS);
    return pods
      .filter((pod) => pod.metadata.deletionTimestamp === undefined)
      .toSorted((a, b) => (a.metadata.name! < b.metadata.name! ? -1 : 1));
  }

  async events(reason: string): Promise<string[]> {
    return (await this.list(EVENTS)).filter((event) => event.reason === reason).map(({ message }) => message);
  }

  /** Writes a pod status as the kubelet does. */
  async report(pod: Pod, status: PodStatus): Promise<void> {
    const { namespace, name = '' } = pod.metadata;
    await this.client.patch(PODS, { namespace, name, subresource: 'status' }, 'merge', { status });
  }

  async reportReady(pod: Pod, lastTransitionTime = '2026-01-01T00:00:00Z'): Promise<void> {
    const conditions = [{ type: 'Ready', status: 'True', lastTransitionTime }];
    await this.report(pod, { phase: 'Running', conditions });
  }

  /** Polls until `look` returns something other than undefined and false. */
  async eventually<T>(what: string, look: () => Promise<T | undefined | false>): Promise<T> {
    const end = performance.now() + PATIENCE_MS;
    for (;;) {
      const started = performance.now();
      const answer = await look();
      if (answer !== undefined && answer !== false) return answer;
      const now = performance.now();
      if (now > end) throw new Error(`${what}: not seen within ${PATIENCE_MS} ms`);
      // The server and the controllers run in this process: looking without a pause would keep them from their work.
      await sleep(Math.max(10, 2 * (now - started)));
    }
  }

  /** Reports new pods as ready and removes terminating ones until `look` succeeds. */
  async runPods<T>(what: string, look: () => Promise<T | undefined | false>): Promise<T> {
    return this.eventually(what, async () => {
      for (const pod of await this.list(PODS)) await this.#tend(pod);
      return look();
    });
  }

  async #tend(pod: Pod): Promise<void> {
    const { namespace, name = '', deletionTimestamp, uid } = pod.metadata;
    try {
      if (deletionTimestamp !== undefined) {
        const now = { gracePeriodSeconds: 0, preconditions: { uid } };
        await this.client.delete(PODS, { namespace, name }, now);
      } else if (pod.status?.phase === 'Pending') await this.reportReady(pod);
    } catch (error) {
      // The controllers work at the same time.
      if (!isNotFound(error) && !isConflict(error)) throw error;
    }
  }
}
