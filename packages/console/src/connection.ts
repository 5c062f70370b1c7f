import { linesOf } from './lines.ts';
import { Changed, type Store } from './store.ts';
import type { Hello, SourceState, StreamMessage } from './wire.ts';

export interface Listener {
  hello(hello: Hello): void;
  changed(changed: Changed): void;
  sources(states: readonly SourceState[]): void;
  connection(state: 'connected' | 'interrupted'): void;
}

const KEY = 'key';
const RETRY_MS = 2_000;

/**
 * Takes the key out of the address and the history. It stays in the session storage, which only pages of this port can read, so that
 * the page can be loaded again.
 */
export function takeKey(): string {
  const key = /^#key=([\w-]+)$/.exec(location.hash)?.[1];
  if (key !== undefined) {
    sessionStorage.setItem(KEY, key);
    history.replaceState(null, '', '/#/map');
  }
  return sessionStorage.getItem(KEY) ?? '';
}

/**
 * Follows a stream, and opens it again when it ends. Rows are applied to the store at once, but pages are updated at most once
 * per frame. Returns a function that ends it.
 */
export function follow(path: string, key: string, store: Store, listener: Partial<Listener>): () => void {
  const end = new AbortController();
  let changed = new Changed();
  let frame: number | undefined;
  const paint = (): void => {
    frame = undefined;
    const batch = changed;
    changed = new Changed();
    listener.changed?.(batch);
  };
  const handle = ([event, data]: StreamMessage): void => {
    if (event === 'hello') {
      store.clear();
      listener.connection?.('connected');
      listener.hello?.(data);
    } else if (event === 'change') {
      store.apply(data, changed);
      frame ??= requestAnimationFrame(paint);
    } else listener.sources?.(data);
  };
  const run = async (): Promise<void> => {
    while (!end.signal.aborted) {
      try {
        for await (const line of linesOf(await open(path, key, end.signal)))
          handle(JSON.parse(line) as StreamMessage);
      } catch (error) {
        if (end.signal.aborted) return;
        console.warn('The stream of the console ended.', error);
      }
      listener.connection?.('interrupted');
      await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
    }
  };
  void run();
  return () => {
    end.abort();
    if (frame !== undefined) cancelAnimationFrame(frame);
  };
}

/** EventSource cannot send a header, and a key in the path would get into the history. */
async function open(path: string, key: string, signal: AbortSignal): Promise<ReadableStream<Uint8Array>> {
  const response = await fetch(path, { headers: { authorization: `Bearer ${key}` }, signal });
  if (response.ok && response.body !== null) return response.body;
  await response.body?.cancel();
  throw new Error(`the console answered ${response.status}`);
}
