import { Changed, type Store } from './store.ts';
import type { Hello, SourceState, StreamEvents } from './wire.ts';

export interface Listener {
  hello(hello: Hello): void;
  changed(changed: Changed): void;
  sources(states: readonly SourceState[]): void;
  connection(state: 'connected' | 'interrupted'): void;
}

/** An error of the server, with its message. */
export class RequestError extends Error {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

export async function request<T>(path: string, body?: object): Promise<T> {
  const init =
    body === undefined
      ? {}
      : { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) };
  let response: Response;
  try {
    response = await fetch(`/api/${path}`, init);
  } catch {
    throw new RequestError(0, 'The console does not answer. Is `tidegate console` still running?');
  }
  const answer = (await response.json().catch(() => ({}))) as T & { message?: string };
  if (!response.ok) throw new RequestError(response.status, answer.message ?? response.statusText);
  return answer;
}

/** Exchanges the key of the address for a session, and removes it from the address and the history. */
export async function openSession(): Promise<void> {
  const key = /^#key=([\w-]+)$/.exec(location.hash)?.[1];
  if (key === undefined) return;
  history.replaceState(null, '', '/#/map');
  await request('session', { key });
}

/**
 * Follows a stream. Rows are applied to the store at once, but pages are updated at most once per frame. Returns a function that ends it.
 */
export function follow(path: string, store: Store, listener: Partial<Listener>): () => void {
  const source = new EventSource(path);
  let changed = new Changed();
  let frame: number | undefined;
  const paint = (): void => {
    frame = undefined;
    const batch = changed;
    changed = new Changed();
    listener.changed?.(batch);
  };
  const on = <E extends keyof StreamEvents>(event: E, handle: (data: StreamEvents[E]) => void): void =>
    source.addEventListener(event, ({ data }) => handle(JSON.parse(data as string) as StreamEvents[E]));
  on('hello', (hello) => {
    store.clear();
    listener.connection?.('connected');
    listener.hello?.(hello);
  });
  on('change', (change) => {
    store.apply(change, changed);
    frame ??= requestAnimationFrame(paint);
  });
  on('sources', (states) => listener.sources?.(states));
  source.addEventListener('error', () => {
    listener.connection?.('interrupted');
    // The browser reconnects by itself unless the server refused.
    if (source.readyState === EventSource.CLOSED) retry = setTimeout(restart, RETRY_MS);
  });
  let retry: ReturnType<typeof setTimeout> | undefined;
  let end = (): void => {};
  const restart = (): void => {
    end = follow(path, store, listener);
  };
  return () => {
    source.close();
    clearTimeout(retry);
    if (frame !== undefined) cancelAnimationFrame(frame);
    end();
  };
}

const RETRY_MS = 2_000;
