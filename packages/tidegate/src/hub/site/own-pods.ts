import { type KubeObject, keyOf, type Pod } from '@tidegate/kube';
import { objectOf, type View, type ViewChange } from '../views/index.ts';
import { type PodReport, reportOf, sameReport } from './pod-report.ts';

/** Receives the uids of pods whose report has changed. An empty set: something else about them has, for example labels. */
export type PodsListener = (uids: ReadonlySet<string>) => void;

/** A pod that can be an endpoint. */
export interface ReportedPod {
  /** Without its spec. */
  readonly pod: Pod;
  readonly report: PodReport;
}

/**
 * The pods of this node, with the status that the kubelet has reported.
 *
 * The view of the pods is not enough: when the link returns, it shows what the API server thinks of the pods, perhaps that
 * they are not ready because their node was unreachable, before the journal is replayed. So from `freeze`, at the moment of
 * the cut, until `follow`, only the kubelet changes the status of a pod here. That a pod exists, or is being deleted, is
 * decided by the API server, and comes from the view.
 */
export class OwnPods {
  readonly #view: View;
  readonly #listener: PodsListener;
  readonly #unsubscribe: () => void;
  /** By `namespace/name`. */
  readonly #pods = new Map<string, Pod>();
  /** By uid. */
  readonly #reports = new Map<string, PodReport>();
  #isFrozen = false;

  /** `view` contains all pods of the node, and nothing else. */
  constructor(view: View, listener: PodsListener) {
    this.#view = view;
    this.#listener = listener;
    for (const item of view.items()) this.#put(item.key, objectOf(item) as Pod);
    this.#unsubscribe = view.subscribe((changes) => this.#changed(changes));
  }

  /** Whether it is known which pods the node has. */
  get isKnown(): boolean {
    return this.#view.resourceVersion !== undefined;
  }

  /** The pods that can be endpoints, by uid. */
  get reports(): ReadonlyMap<string, PodReport> {
    return this.#reports;
  }

  pods(): ReportedPod[] {
    return [...this.#pods.values()].flatMap((pod) => {
      const report = this.#reports.get(pod.metadata.uid ?? '');
      return report === undefined ? [] : { pod, report };
    });
  }

  /** From now on, only the kubelet changes the status of pods. */
  freeze(): void {
    this.#isFrozen = true;
  }

  /** From now on, the API server knows everything that the kubelet has reported. */
  follow(): void {
    this.#isFrozen = false;
    this.#notify(() => {
      for (const item of this.#view.items()) this.#put(item.key, objectOf(item) as Pod);
    });
  }

  /** The pod as it was last reported, with the key `namespace/name`. Undefined unless frozen: then the API server decides. */
  lastReported(key: string): Pod | undefined {
    return this.#isFrozen ? this.#pods.get(key) : undefined;
  }

  /** Called for each status that the kubelet writes. `pod` is the object after the write. */
  reported(pod: KubeObject): void {
    const key = keyOf(pod);
    const known = this.lastReported(key);
    if (known === undefined || known.metadata.uid !== pod.metadata.uid) return;
    this.#notify(() => this.#set(key, { ...known, status: (pod as Pod).status }));
  }

  close(): void {
    this.#unsubscribe();
  }

  #changed(changes: readonly ViewChange[]): void {
    if (changes.length === 0) return;
    this.#notify(() => {
      for (const { type, item } of changes) {
        if (type === 'delete') this.#delete(item.key);
        else this.#put(item.key, objectOf(item) as Pod);
      }
    });
  }

  /** Makes a change, and notifies the listener of the reports that differ. A node has few pods. */
  #notify(change: () => void): void {
    const before = new Map(this.#reports);
    change();
    const uids = [...before.keys(), ...this.#reports.keys()];
    const differ = uids.filter((uid) => !sameReport(before.get(uid), this.#reports.get(uid)));
    this.#listener(new Set(differ));
  }

  /** A pod of the same name with another uid is another pod, which the kubelet has not reported on yet. */
  #put(key: string, pod: Pod): void {
    const known = this.#pods.get(key);
    const keepsStatus = this.#isFrozen && known !== undefined && known.metadata.uid === pod.metadata.uid;
    this.#set(key, keepsStatus ? { ...pod, status: known.status } : pod);
  }

  #set(key: string, pod: Pod): void {
    this.#delete(key);
    const { spec: _, ...rest } = pod;
    this.#pods.set(key, rest);
    const report = reportOf(pod);
    if (report !== undefined) this.#reports.set(pod.metadata.uid ?? '', report);
  }

  #delete(key: string): void {
    this.#reports.delete(this.#pods.get(key)?.metadata.uid ?? '');
    this.#pods.delete(key);
  }
}
