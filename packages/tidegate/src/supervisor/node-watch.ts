import { Informer, type KubeClient, NODES, type Node, orAborted } from '@tidegate/kube';
import { readinessOf } from './node-reports.ts';

/** The Node objects as last seen. They remain known while the API server is unreachable. */
export class NodeWatch {
  readonly #informer: Informer<Node>;
  readonly #ended = new AbortController();
  #running: Promise<void> = Promise.resolve();

  constructor(client: KubeClient) {
    this.#informer = new Informer<Node>(client, NODES);
  }

  get nodes(): ReadonlyMap<string, Node> {
    return new Map(this.#informer.cache.list().map((node) => [node.metadata.name ?? '', node]));
  }

  run(): void {
    this.#running = this.#informer.run(this.#ended.signal);
  }

  /** Resolves when all named nodes are Ready; calls `onReady` once for each. Rejects with the signal's reason. */
  untilReady(names: readonly string[], onReady: (name: string) => void, signal: AbortSignal): Promise<void> {
    const waiting = new Set(names);
    if (waiting.size === 0) return Promise.resolve();
    let remove = (): void => {};
    const ready = new Promise<void>((resolve) => {
      const look = (node: Node): void => {
        const name = node.metadata.name ?? '';
        if (readinessOf(node) !== 'True' || !waiting.delete(name)) return;
        onReady(name);
        if (waiting.size === 0) resolve();
      };
      remove = this.#informer.addHandler({ onAdd: look, onUpdate: (_, node) => look(node) });
    });
    return orAborted(ready, signal).finally(remove);
  }

  async close(): Promise<void> {
    this.#ended.abort();
    await this.#running;
  }
}
