import {
  type Clock,
  isForbidden,
  isNotFound,
  isUnauthorized,
  type KubeClient,
  type KubeObject,
  type Link,
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
  upstream: Link;
  mostBytes: number;
  confirm(view: MemoryView, list: readonly ViewItem[], signal: AbortSignal): Promise<boolean>;
  onRelist(): void;
  /** A watch is open: the API server grants it. */
  onFollowing(): void;
}

/**
 * Keeps a view as the API server has it, until the signal is aborted. Rejects when the API server refuses it, and when
 * it grows too large.
 */
export async function follow(
  view: MemoryView,
  client: KubeClient,
  options: FollowOptions,
  signal: AbortSignal,
): Promise<void> {
  const { clock, random, log, upstream, mostBytes, confirm, onRelist, onFollowing } = options;
  const { resource } = view.key;
  const checkSize = (bytes: number): void => {
    if (bytes > mostBytes) throw new ViewTooLargeError(qualifiedName(resource), mostBytes);
  };
  /** Of the list that is being read. */
  let listedBytes = 0;
  const mirror: Mirror<KubeObject, ViewItem> = {
    keep(object) {
      const item = itemOf(object, resource);
      listedBytes += item.bytes.length;
      checkSize(listedBytes);
      return item;
    },
    // What was on its way when it was called off must not reach a view that others may have taken over on disk.
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
    link: upstream,
    resumeFrom: view.resourceVersion || undefined,
    initialState: 'list',
    confirm: (list, signal) => confirm(view, list, signal),
    isFinal: (error) => isRefusal(error) || error instanceof ViewTooLargeError,
    onPhase(phase) {
      listedBytes = 0;
      view.followed = phase === 'watching';
      if (view.followed) onFollowing();
    },
  });
  await reflector.run(signal);
}

/** Not a failure of the way: the API server says no. */
export const isRefusal = (error: unknown): boolean =>
  isUnauthorized(error) || isForbidden(error) || isNotFound(error);
