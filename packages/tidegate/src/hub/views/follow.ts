import {
  type Clock,
  type ConnectionState,
  isForbidden,
  isNotFound,
  isUnauthorized,
  type KubeClient,
  type KubeObject,
  type Logger,
  type Mirror,
  qualifiedName,
  type Random,
  Reflector,
} from '@tidegate/kube';
import { ViewTooLargeError } from './errors.ts';
import { itemOf } from './item.ts';
import type { MemoryView } from './memory-view.ts';
import type { ViewItem } from './view.ts';
import { selectOf } from './view-key.ts';

export interface FollowOptions {
  clock: Clock;
  random: Random;
  log: Logger;
  /** Nothing is tried while it is offline. */
  upstream: ConnectionState;
  /** The size limit of the view, in bytes of JSON. */
  mostBytes: number;
  /** Counts the memory that the objects use. See Place in followed-shares.ts. */
  resize(bytes: number): boolean;
  /** Decides whether a list may replace the objects of the view, see `WipeGuard`. */
  confirm(view: MemoryView, list: readonly ViewItem[], signal: AbortSignal): Promise<boolean>;
  /** Called when a complete list has been fetched. */
  onRelist(): void;
  /** Called when a watch is open, which means that the API server has authorized it. */
  onFollowing(): void;
}

/**
 * Keeps a view current until the signal is aborted: a watch continues from the version of the view, and only an empty
 * view or a 410 Gone causes a list. Rejects when the API server refuses the view (401, 403, 404) and when the view exceeds
 * its size limit. Everything else, for example a connection that fails, is retried with a backoff by the Reflector.
 */
export async function follow(
  view: MemoryView,
  client: KubeClient,
  options: FollowOptions,
  signal: AbortSignal,
): Promise<void> {
  const { clock, random, log, upstream, mostBytes, resize, confirm, onRelist, onFollowing } = options;
  const { resource } = view.key;
  /** The size of the list that is being read. Checked for every object, so that a huge list is not read to its end. */
  let listedBytes = 0;
  const checkSize = (bytes: number): void => {
    if (bytes > mostBytes) throw new ViewTooLargeError(qualifiedName(resource), mostBytes);
    // While a list is read, both it and the view that it replaces are in memory.
    if (!resize(view.bytes + listedBytes)) throw new ViewTooLargeError(qualifiedName(resource), 'share');
  };
  const mirror: Mirror<KubeObject, ViewItem> = {
    keep(object) {
      const item = itemOf(object, resource);
      listedBytes += item.bytes.length;
      checkSize(listedBytes);
      return item;
    },
    // An event may still arrive after the signal was aborted. It must not be applied: the view may have been dropped,
    // and another view with the same key may be using the same place on disk.
    replace(list, resourceVersion, listKind) {
      if (signal.aborted) return;
      onRelist();
      view.replace(list, resourceVersion, listKind);
    },
    apply(type, item) {
      listedBytes = 0;
      if (signal.aborted) return;
      view.apply(type, item);
      checkSize(view.bytes);
    },
    bookmark(resourceVersion) {
      if (!signal.aborted) view.bookmark(resourceVersion);
    },
  };
  const reflector = new Reflector(client, resource, mirror, {
    select: selectOf(view.key),
    clock,
    random,
    log,
    connection: upstream,
    resumeFrom: view.resourceVersion || undefined,
    // A list is compressed and a stream of initial events is not, which matters on a slow link.
    initialState: 'list',
    confirm: (list, signal) => confirm(view, list, signal),
    isFinal: (error) => isRefusal(error) || error instanceof ViewTooLargeError,
    onPhase(phase) {
      listedBytes = 0;
      resize(view.bytes);
      view.followed = phase === 'watching';
      if (view.followed) onFollowing();
    },
  });
  await reflector.run(signal);
}

/** Whether the API server has refused the request. Other errors are failures of the server or of the connection. */
export const isRefusal = (error: unknown): boolean =>
  isUnauthorized(error) || isForbidden(error) || isNotFound(error);
