import type { Row, RowId, RowKind, SourceState } from '@tidegate/console/wire';
import { type Clock, Informer, type KubeClient, type KubeObject, systemClock } from '@tidegate/kube';
import { SOURCES, type Source } from './sources.ts';

/** Changes within this time are sent together. A frame of the browser is shorter than most people notice. */
const BATCH_MS = 50;
/** How often the state of the watches is compared with what was sent. */
const HEALTH_MS = 1_000;

export interface FeedListener {
  /** These rows have changed, or are gone. */
  changed(rows: readonly RowId[]): void;
  /** The states of the sources have changed. */
  sources(): void;
}

interface Followed {
  source: Source;
  informer: Informer;
}

/**
 * The rows of all sources, kept current by one watch per resource with the credentials of the user. A change costs one row,
 * however large the cluster is.
 */
export class Feed {
  readonly #followed: Followed[];
  readonly #clock: Clock;
  readonly #rows = new Map<string, Row>();
  readonly #pending = new Map<string, RowId>();
  readonly #listeners = new Set<FeedListener>();
  #states: SourceState[] = [];
  #cancelBatch: (() => void) | undefined;

  constructor(client: KubeClient, clock: Clock = systemClock) {
    this.#clock = clock;
    this.#followed = SOURCES.map((source) => ({
      source,
      informer: new Informer(client, source.resource, { transform: withoutManagedFields }),
    }));
    this.#states = this.#currentStates();
  }

  async run(signal: AbortSignal): Promise<void> {
    for (const { source, informer } of this.#followed) {
      informer.addHandler({
        onAdd: (object) => this.put(source.row(object)),
        onUpdate: (_old, object) => this.put(source.row(object)),
        onDelete: (object) => this.drop(source.row(object)),
      });
    }
    const health = setInterval(() => this.#checkHealth(), HEALTH_MS);
    try {
      await Promise.all(this.#followed.map(({ informer }) => informer.run(signal)));
    } finally {
      clearInterval(health);
      this.#cancelBatch?.();
    }
  }

  get rows(): Iterable<Row> {
    return this.#rows.values();
  }

  get(id: RowId): Row | undefined {
    return this.#rows.get(idOf(id));
  }

  get states(): readonly SourceState[] {
    return this.#states;
  }

  put(row: Row): void {
    const id = idOf(row);
    // Nodes report every few seconds, usually without news. Rows are small, so comparing them is cheaper than sending them.
    if (JSON.stringify(this.#rows.get(id)) === JSON.stringify(row)) return;
    this.#rows.set(id, row);
    this.#touch(row);
  }

  drop({ kind, key }: RowId): void {
    if (this.#rows.delete(idOf({ kind, key }))) this.#touch({ kind, key });
  }

  /** Returns a function that removes the listener. */
  listen(listener: FeedListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  #touch({ kind, key }: RowId): void {
    this.#pending.set(idOf({ kind, key }), { kind, key });
    this.#cancelBatch ??= this.#clock.after(BATCH_MS, () => this.flush());
  }

  /** Tells listeners now what has changed. */
  flush(): void {
    this.#cancelBatch?.();
    this.#cancelBatch = undefined;
    const rows = [...this.#pending.values()];
    this.#pending.clear();
    for (const listener of [...this.#listeners]) listener.changed(rows);
  }

  #checkHealth(): void {
    const states = this.#currentStates();
    if (JSON.stringify(states) === JSON.stringify(this.#states)) return;
    this.#states = states;
    for (const listener of [...this.#listeners]) listener.sources();
  }

  #currentStates(): SourceState[] {
    return this.#followed.map(({ source, informer }) => stateOf(source.kind, informer));
  }
}

export const idOf = ({ kind, key }: RowId): string => `${kind} ${key}`;

function stateOf(kind: RowKind, { hasSynced, trouble }: Informer): SourceState {
  if (trouble !== undefined)
    return { kind, state: 'failed', message: trouble instanceof Error ? trouble.message : String(trouble) };
  return { kind, state: hasSynced ? 'live' : 'loading' };
}

/** They are often the larger part of an object, and nothing here reads them. */
function withoutManagedFields(object: KubeObject): KubeObject {
  const { managedFields, ...metadata } = object.metadata;
  return managedFields === undefined ? object : { ...object, metadata };
}
