import { aborted, type Clock, type Informer, type Node } from '@tidegate/kube';
import { isFreeNode } from '../../pools/index.ts';
import type { OutsidePools } from './scheduling.ts';

/** A node that registers is outside of pools for a moment, until it gets the label of its pool. */
const SETTLE_MS = 60_000;

/** Whether there are nodes outside of all pools. Routers without a pool run there and nowhere else, if there are any. */
export class FreeNodes {
  readonly #names = new Set<string>();
  readonly #listeners: (() => void)[] = [];
  readonly #clock: Clock;
  #exist = false;
  #hasEnded = false;
  #cancel: (() => void) | undefined;

  /** The informer of nodes must be synced. */
  constructor(nodes: Pick<Informer<Node>, 'addHandler'>, clock: Clock) {
    this.#clock = clock;
    const look = (node: Node): void => this.#look(`${node.metadata.name}`, isFreeNode(node));
    nodes.addHandler({
      onAdd: look,
      onUpdate: (_, node) => look(node),
      onDelete: ({ metadata }) => this.#look(`${metadata.name}`, false),
    });
    // What exists at the start has settled.
    this.#exist = this.#names.size > 0;
    this.#stopWaiting();
  }

  /** Where the pods of routers without a pool may run. */
  get outsidePools(): OutsidePools {
    return this.#exist ? 'required' : 'preferred';
  }

  /** `listener` is called when the first node becomes free, and when the last one is gone. */
  onChange(listener: () => void): void {
    this.#listeners.push(listener);
  }

  /** Resolves when the signal is aborted. Then no more changes follow. */
  async run(signal: AbortSignal): Promise<void> {
    await aborted(signal);
    this.end();
  }

  end(): void {
    this.#hasEnded = true;
    this.#stopWaiting();
  }

  #stopWaiting(): void {
    this.#cancel?.();
    this.#cancel = undefined;
  }

  #look(name: string, isFree: boolean): void {
    if (isFree) this.#names.add(name);
    else this.#names.delete(name);
    const some = this.#names.size > 0;
    if (!some) this.#stopWaiting();
    if (some === this.#exist || this.#cancel !== undefined || this.#hasEnded) return;
    if (some) this.#cancel = this.#clock.after(SETTLE_MS, () => this.#set(true));
    else this.#set(false);
  }

  #set(exist: boolean): void {
    this.#stopWaiting();
    this.#exist = exist;
    for (const listener of this.#listeners) listener();
  }
}
