/** The state in memory: a table for each resource, the newest revision, and the history before it. */
import { History, type HistoryLimits } from './history.ts';
import { pageOf, pastPageOf } from './list.ts';
import type { LogRecord } from './record.ts';
import { Table } from './table.ts';
import {
  type Change,
  CompactedError,
  type Entry,
  FutureRevisionError,
  type Key,
  type ListOptions,
  type ListResult,
} from './types.ts';

/** The revision of an empty store. It must not be 0, because clients read resourceVersion 0 as "any version". */
export const INITIAL_REVISION = 1;

/** What readers see: only durable changes. `apply` is called in the order of revisions. */
export class State {
  readonly #tables = new Map<string, Table>();
  readonly #history: History;
  #revision: number;
  #bytes = 0;

  constructor(limits: HistoryLimits, revision = INITIAL_REVISION) {
    // A new store was empty at every earlier revision, so all of them can be listed.
    this.#history = new History(limits, revision === INITIAL_REVISION ? 0 : revision);
    this.#revision = revision;
  }

  get revision(): number {
    return this.#revision;
  }

  get compactedRevision(): number {
    return this.#history.compactedRevision;
  }

  /** Total size of all values. */
  get bytes(): number {
    return this.#bytes;
  }

  get({ resource, namespace, name }: Key): Entry | undefined {
    return this.#tables.get(resource)?.get(namespace, name);
  }

  count(resource: string): number {
    return this.#tables.get(resource)?.size ?? 0;
  }

  resources(): string[] {
    return [...this.#tables.keys()];
  }

  /** Adds an entry from a snapshot, which is older than the history. */
  load({ resource, entry }: LogRecord): void {
    this.#put(resource, entry);
  }

  /** Applies the newest change. */
  apply(change: Change): void {
    const { type, resource, entry, previous } = change;
    if (type === 'put') this.#put(resource, entry);
    else this.#delete(resource, entry);
    this.#bytes -= previous?.value.length ?? 0;
    this.#revision = entry.revision;
    this.#history.add(change);
  }

  list(resource: string, options: ListOptions = {}): ListResult {
    const revision = options.revision ?? this.#revision;
    this.#assertKept(revision);
    if (revision > this.#revision) throw new FutureRevisionError(revision, this.#revision);
    const runs = this.#tables.get(resource)?.runs(options.namespace, options.after) ?? [];
    const limit = options.limit || Number.POSITIVE_INFINITY;
    // A list at an older revision undoes the changes since then. If the resource has not changed since, the current
    // state is the answer.
    const changes = revision === this.#revision ? [] : this.#history.after(resource, revision);
    const page = changes.length === 0 ? pageOf(runs, limit) : pastPageOf(runs, changes, options, limit);
    return { ...page, revision };
  }

  /** The changes with which a watch resumes. Throws CompactedError if some of them are no longer kept. */
  changesAfter(resource: string, revision: number): Change[] {
    this.#assertKept(revision);
    return this.#history.after(resource, revision);
  }

  /** The entries of every resource as of now. Later changes do not modify the arrays. */
  capture(): Map<string, Entry[]> {
    return new Map([...this.#tables].map(([resource, table]) => [resource, table.all()]));
  }

  #assertKept(revision: number): void {
    if (revision < this.compactedRevision) throw new CompactedError(revision, this.compactedRevision);
  }

  #put(resource: string, entry: Entry): void {
    let table = this.#tables.get(resource);
    if (table === undefined) {
      table = new Table();
      this.#tables.set(resource, table);
    }
    table.put(entry);
    this.#bytes += entry.value.length;
  }

  #delete(resource: string, { namespace, name }: Entry): void {
    const table = this.#tables.get(resource);
    table?.delete(namespace, name);
    if (table?.size === 0) this.#tables.delete(resource);
  }
}
