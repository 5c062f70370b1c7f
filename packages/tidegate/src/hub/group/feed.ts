import { randomUUID } from 'node:crypto';
import type { Clock } from '@tidegate/kube';
import type { OwnPods } from '../site/index.ts';
import { encodeFrame } from './frames.ts';
import type { Selections } from './selections.ts';

/** Changes that come together, for example when a kubelet starts, become one frame. */
const COLLECT_MS = 50;

/** What this node sends to the others: all reports of its kubelet, each time that one of them changes. */
export class Feed {
  readonly #epoch = randomUUID();
  readonly #own: Pick<OwnPods, 'isKnown' | 'pods'>;
  readonly #inForce: () => boolean;
  readonly #selections: Pick<Selections, 'selects'>;
  readonly #clock: Clock;
  readonly #readers = new Set<(text: string) => void>();
  #sequence = 0;
  #cancel: (() => void) | undefined;

  /** `inForce`: whether the reports count more than what the API server says about this node. */
  constructor(
    own: Pick<OwnPods, 'isKnown' | 'pods'>,
    inForce: () => boolean,
    selections: Pick<Selections, 'selects'>,
    clock: Clock,
  ) {
    this.#own = own;
    this.#inForce = inForce;
    this.#selections = selections;
    this.#clock = clock;
  }

  /** Sends the current state to the reader as soon as the pods are known, and every later one. */
  add(reader: (text: string) => void): () => void {
    this.#readers.add(reader);
    if (this.#own.isKnown) reader(this.#frame());
    return () => this.#readers.delete(reader);
  }

  /** A report, or what may be sent of it, has changed. */
  changed(): void {
    this.#cancel ??= this.#clock.after(COLLECT_MS, () => {
      this.#cancel = undefined;
      if (this.#readers.size === 0 || !this.#own.isKnown) return;
      const frame = this.#frame();
      for (const reader of [...this.#readers]) reader(frame);
    });
  }

  close(): void {
    this.#cancel?.();
    this.#readers.clear();
  }

  #frame(): string {
    this.#sequence += 1;
    return encodeFrame({
      epoch: this.#epoch,
      sequence: this.#sequence,
      counts: this.#inForce(),
      pods: new Map(
        this.#own
          .pods()
          .map(({ pod, report }) => [pod.metadata.uid ?? '', this.#selections.selects(pod) ? report : null]),
      ),
    });
  }
}
