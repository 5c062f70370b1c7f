import type { DurableMap } from '@tidegate/disk';
import {
  ApiStatusError,
  type Clock,
  type ConnectionState,
  type CredentialSource,
  ENDPOINT_SLICES,
  ENDPOINTS,
  type KubeClient,
  type KubeList,
  type KubeObject,
  type Logger,
  type Metrics,
  NODES,
  qualifiedName,
  type Random,
  type Resource,
  splitKey,
  statusOf,
} from '@tidegate/kube';
import type { Holder } from '../shares/index.ts';
import { description, type ViewDescription } from './description.ts';
import { IdentityDroppedError, TooManyWatchesError } from './errors.ts';
import { DEFAULT_LIMITS, type ViewLimits, victims } from './eviction.ts';
import { FollowedShares } from './followed-shares.ts';
import { type AcquiredClient, IdentityClients } from './identity-clients.ts';
import { itemOf, objectOf } from './item.ts';
import { type Lookup, lookUpAcross, lookUpIn } from './lookup.ts';
import { type AcquireClient, ManagedView, type ManagedViewOptions } from './managed-view.ts';
import { showViews, type ViewCounters, viewCounters } from './metrics.ts';
import { type CompleteList, PageAssembler } from './pages.ts';
import { discardsCopy } from './refusal.ts';
import { SettledUpstream } from './settled-upstream.ts';
import { type ViewRecord, ViewStorage } from './storage.ts';
import type { View, ViewKey } from './view.ts';
import { ViewIndex } from './view-index.ts';
import { answers, NODE, SHARED, sharedKey, singleKey } from './view-key.ts';
import { type WipeGuard, wipeGuard } from './wipe-guard.ts';

export interface ViewsOptions {
  /** Where views are stored. Only the views may use it. */
  map: DurableMap;
  /** The client of the node itself, for shared views and views of the node. */
  node: KubeClient;
  nodeName: string;
  /** Opens a client for an identity. It is closed when no view of the identity is followed. */
  client(credentials: CredentialSource): KubeClient;
  /** The tenant of an identity, by its key. */
  holderOf(identity: string): Holder;
  upstream: ConnectionState;
  clock: Clock;
  random: Random;
  log: Logger;
  metrics: Metrics;
  /** Limits that are not set are those of DEFAULT_LIMITS. */
  limits?: Partial<ViewLimits>;
}

/** A view that stays in memory until it is released. Every HeldView must be released once. */
export interface HeldView {
  readonly view: View;
  release(): void;
}

/**
 * What became of a list that was passed to `Views.store`:
 *
 * - `stored`: the view shows this list or a newer state.
 * - `incomplete`: it was a page; the view is replaced when the last page has arrived.
 * - `rejected`: the wipe guard rejected the list. The client must get the view instead of the list.
 * - `too large`: the list exceeds the size limit and was not stored.
 * - `ahead`: the watch that keeps the view current is interrupted, so the list may be newer than the view.
 */
export type Stored = 'stored' | 'incomplete' | 'rejected' | 'too large' | 'ahead';

/**
 * All views of this node. It finds or creates the view for a request, gives it the credentials to follow the API server
 * with, looks up single objects across views, and evicts views when there are too many. `index.ts` describes the life of
 * one view.
 */
export class Views {
  readonly #options: ViewsOptions;
  readonly #storage: ViewStorage;
  readonly #limits: ViewLimits;
  readonly #shares: FollowedShares;
  readonly #clients: IdentityClients;
  readonly #guard: WipeGuard;
  readonly #counters: ViewCounters;
  readonly #pages: PageAssembler;
  /** The upstream that views of Endpoints and EndpointSlices are followed through. */
  readonly #settledUpstream: SettledUpstream;
  readonly #views = new ViewIndex();
  readonly #release: (() => void)[];
  readonly #closing = new AbortController();
  /** The next eviction, if one is due. */
  #evicting: Promise<void> | undefined;

  private constructor(options: ViewsOptions, storage: ViewStorage) {
    const { node: client, nodeName, log, upstream, metrics } = options;
    this.#options = options;
    this.#storage = storage;
    this.#limits = { ...DEFAULT_LIMITS, ...options.limits };
    this.#clients = new IdentityClients(options.client);
    this.#counters = viewCounters(metrics);
    this.#shares = new FollowedShares(this.#limits, options.holderOf);
    const { viewBytes } = this.#limits;
    const pageLimits = { perIdentity: viewBytes, total: 2 * viewBytes };
    this.#pages = new PageAssembler(options.clock, pageLimits, options.holderOf);
    const onRejected = (key: ViewKey): void => this.#counters.rejected.inc(labelsOf(key));
    const knownUid = (): Promise<string | undefined> => this.#uidOfNode();
    this.#guard = wipeGuard({ client, nodeName, knownUid, log, onRejected });
    this.#settledUpstream = new SettledUpstream(upstream, options.clock);
    this.#release = [
      () => this.#settledUpstream.close(),
      upstream.onChange(() => this.#upstreamChanged()),
      showViews(metrics, () => this.#views.all()),
    ];
  }

  /** Reads which views are stored. Their objects are read when a client uses them. */
  static async open(options: ViewsOptions): Promise<Views> {
    const storage = new ViewStorage(options.map);
    const views = new Views(options, storage);
    for (const record of await storage.records(options.log)) views.#add(record.key, record);
    return views;
  }

  /**
   * The view of a shared resource, which is followed with the node's credentials. The caller must check that the client is
   * authorized before it shows anything of the view.
   */
  shared(resource: Resource): HeldView {
    return this.#hold(sharedKey(resource), () => this.#acquireNodeClient());
  }

  /**
   * The view of one identity, which is followed with the credentials that the identity sent last. Throws TooManyWatchesError if
   * the client has used its share.
   */
  private(key: ViewKey, credentials: CredentialSource): HeldView {
    const { identity } = key;
    if (identity === NODE) return this.#hold(key, () => this.#acquireNodeClient());
    this.#clients.update(identity, credentials);
    return this.#hold(key, () => this.#clients.acquire(identity, credentials));
  }

  /** Whether anything of the view is known. */
  has(key: ViewKey): boolean {
    return this.#views.get(key)?.progress !== undefined;
  }

  /** The view if anything of it is known, without following it. */
  find(key: ViewKey): HeldView | undefined {
    const view = this.#views.get(key);
    return view?.progress === undefined ? undefined : view.hold();
  }

  /** Looks up one object in all views that the identity has of the resource. */
  covering(identity: string, resource: Resource, namespace: string, name: string): Promise<Lookup> {
    return lookUpAcross(this.#views.group(identity, resource), namespace, name);
  }

  /**
   * Stores a list that a client has read from the API server, or a page of one. `token` is the continue token of the
   * request.
   */
  async store(key: ViewKey, page: KubeList, token?: string): Promise<Stored> {
    const list = this.#pages.add(key, token, page);
    return list === undefined ? 'incomplete' : this.#store(key, list);
  }

  /** Stores the response to a GET or to a write, unless a followed view contains the object and keeps it current already. */
  async rememberObject(identity: string, resource: Resource, object: KubeObject): Promise<void> {
    const item = itemOf(object, resource);
    const followed = [...this.#views.group(identity, resource)].filter((view) => view.isFollowed);
    for (const view of followed) if ((await view.item(item.key)) !== undefined) return;
    const { namespace = '', name = '' } = object.metadata;
    await this.#store(singleKey(identity, resource, namespace, name), {
      listKind: `${object.kind}List`,
      resourceVersion: item.resourceVersion,
      items: [item],
    });
  }

  /** Whether the response to a GET is stored. */
  hasObject(identity: string, resource: Resource, namespace: string, name: string): boolean {
    return this.#views.get(singleKey(identity, resource, namespace, name))?.progress !== undefined;
  }

  /** Deletes what a GET has stored. Called when the API server has answered 404. */
  async forgetObject(identity: string, resource: Resource, namespace: string, name: string): Promise<void> {
    const view = this.#views.get(singleKey(identity, resource, namespace, name));
    if (view?.isIdle === true) await this.#drop(view, new Error('the object was deleted'));
  }

  /**
   * Shows a write that is in the journal in all views of the identity that contain the object, until the API server sends
   * the object again. See MemoryView.overlay.
   */
  async overlay(identity: string, resource: Resource, object: KubeObject): Promise<void> {
    const item = itemOf(object, resource);
    await Promise.all([...this.#views.group(identity, resource)].map((view) => view.overlay(item)));
  }

  /** Looks up one object in exactly this view, which contains everything that its key selects. */
  lookUp(key: ViewKey, objectKey: string): Promise<Lookup> {
    return lookUpIn(this.#views.get(key), objectKey);
  }

  /**
   * The API server has refused a read of the identity with 403. Deletes every copy that could answer that read, and ends
   * its watches: a revoked permission must not live on in a copy. The next permitted read creates the copy again. `name`
   * is empty for a list or watch. Views of other versions of the resource are included: permissions do not name versions.
   */
  async forbid(identity: string, resource: Resource, namespace: string, name: string): Promise<void> {
    const why = new ApiStatusError(statusOf(403, 'the API server no longer permits this read'));
    const isRefused = ({ key }: ManagedView): boolean =>
      key.identity === identity &&
      qualifiedName(key.resource) === qualifiedName(resource) &&
      answers(key, namespace, name) &&
      discardsCopy(key, why, 1);
    await Promise.all(this.#views.filter(isRefused).map((view) => this.#drop(view, why)));
  }

  /** Deletes all views of an identity, and ends its watches. */
  async dropIdentity(identity: string): Promise<void> {
    const dropped = this.#views.filter(({ key }) => key.identity === identity);
    const why = (view: ManagedView): Error => new IdentityDroppedError(qualifiedName(view.key.resource));
    await Promise.all(dropped.map((view) => this.#drop(view, why(view))));
  }

  describe(): ViewDescription[] {
    return [...this.#views.all()].map(description);
  }

  /** Stops following, and writes everything to disk. The map stays open. */
  async close(): Promise<void> {
    this.#closing.abort();
    for (const release of this.#release) release();
    await Promise.all([...this.#views.all()].map((view) => view.close()));
    await this.#storage.flush();
  }

  #hold(key: ViewKey, acquire: AcquireClient): HeldView {
    const managed = this.#get(key);
    const held = managed.hold();
    if (!managed.follow(acquire) && !this.#followInstead(managed, acquire)) {
      held.release();
      this.#counters.unfollowed.inc({});
      throw new TooManyWatchesError(qualifiedName(key.resource));
    }
    return held;
  }

  /** Follows the view in place of views of the same tenant that no client holds. */
  #followInstead(managed: ManagedView, acquire: AcquireClient): boolean {
    const { holderOf } = this.#options;
    const lingering = this.#views.lingering(holderOf(managed.key.identity), holderOf);
    return lingering.some((view) => {
      view.unfollow();
      return managed.follow(acquire);
    });
  }

  async #store(key: ViewKey, list: CompleteList): Promise<Stored> {
    const bytes = list.items.reduce((sum, item) => sum + item.bytes.length, 0);
    const existing = this.#views.get(key);
    if (bytes > this.#limits.viewBytes) {
      this.#counters.tooLarge.inc(labelsOf(key));
      if (existing?.isIdle === true) await this.#drop(existing, new Error('the view exceeds the size limit'));
      return 'too large';
    }
    const size = existing?.progress?.size ?? 0;
    if (!(await this.#guard({ key, size }, list.items, this.#closing.signal))) return 'rejected';
    const shown = await this.#get(key).store(list);
    await this.#evictSoon();
    return shown ? 'stored' : 'ahead';
  }

  #get(key: ViewKey): ManagedView {
    return this.#views.get(key) ?? this.#add(key);
  }

  #add(key: ViewKey, record?: ViewRecord): ManagedView {
    const options = this.#optionsFor(key, () => this.#views.remove(view));
    const view = new ManagedView(key, options, record);
    this.#views.add(view);
    return view;
  }

  #optionsFor(key: ViewKey, onForgotten: () => void): ManagedViewOptions {
    const { clock, random, upstream, log } = this.#options;
    const labels = labelsOf(key);
    return {
      clock,
      random,
      upstream,
      settledUpstream: isAboutEndpoints(key.resource) ? this.#settledUpstream : upstream,
      log: log.child({ ...labels, identity: key.identity, namespace: key.namespace }),
      storage: this.#storage,
      // Shared views have no limit: the node cannot work without them, and only the hub decides which there are.
      mostBytes: key.identity === SHARED ? Number.POSITIVE_INFINITY : this.#limits.viewBytes,
      confirm: this.#guard,
      onRelist: () => this.#counters.relists.inc(labels),
      onTooLarge: () => this.#counters.tooLarge.inc(labels),
      onGone: (objectKey) => this.#gone(key, objectKey),
      enter: () => {
        const bytes = this.#views.get(key)?.progress?.bytes ?? 0;
        return this.#shares.enter(key, { bytes, online: upstream.online });
      },
      onIdle: () => this.#inBackground(this.#evictSoon()),
      onForgotten,
    };
  }

  /** The node's client is open for as long as the hub runs, so releasing it does nothing. */
  #acquireNodeClient(): AcquiredClient {
    return { client: this.#options.node, release: async () => {} };
  }

  async #uidOfNode(): Promise<string | undefined> {
    const node = await this.covering(NODE, NODES, '', this.#options.nodeName);
    return node.result === 'found' ? objectOf(node.item).metadata.uid : undefined;
  }

  #upstreamChanged(): void {
    for (const view of this.#views.all()) view.upstreamChanged();
  }

  /** A view with more objects has seen the deletion, so the response to an earlier GET must not be served any more. */
  #gone({ identity, resource }: ViewKey, objectKey: string): void {
    const { namespace = '', name } = splitKey(objectKey);
    this.#inBackground(this.forgetObject(identity, resource, namespace, name));
  }

  /** Many views may become idle at once. One eviction serves all of them. */
  #evictSoon(): Promise<void> {
    this.#evicting ??= Promise.resolve().then(() => this.#evict());
    return this.#evicting;
  }

  async #evict(): Promise<void> {
    this.#evicting = undefined;
    if (this.#closing.signal.aborted) return;
    for (const view of victims(this.#views.all(), this.#limits, this.#options.holderOf)) {
      // While the previous one was deleted, a client may have started to use this one.
      if (!view.isIdle) continue;
      this.#counters.evicted.inc(labelsOf(view.key));
      await this.#drop(view, new Error('the client has too many views'));
    }
  }

  async #drop(view: ManagedView, why: Error): Promise<void> {
    this.#views.remove(view);
    await view.drop(why);
  }

  #inBackground(work: Promise<void>): void {
    work.catch((error) => this.#options.log.error({ err: error }, 'cannot delete a view'));
  }
}

const isAboutEndpoints = ({ group, resource }: Resource): boolean =>
  [ENDPOINTS, ENDPOINT_SLICES].some((each) => each.group === group && each.resource === resource);

const labelsOf = ({ resource }: ViewKey): { resource: string } => ({ resource: qualifiedName(resource) });
