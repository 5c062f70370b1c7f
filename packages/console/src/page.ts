import type { Changed, Store } from './store.ts';
import type { Hello, RowKind, SourceState } from './wire.ts';

/** What pages get. */
export interface Context {
  store: Store;
  hello(): Hello | undefined;
  sources(): readonly SourceState[];
  /** Whether the first state of these kinds has arrived, or cannot be read. */
  isLoading(...kinds: RowKind[]): boolean;
}

/** A page that is shown. */
export interface Page {
  title: string;
  element: HTMLElement;
  /** Called at most once per frame. `undefined`: everything may have changed. */
  update(changed: Changed | undefined): void;
  close?(): void;
}

/** Creates a page from the parts of its address, for example `['NodePool', 'hangzhou']`. */
export type OpenPage = (context: Context, parts: readonly string[]) => Page;
