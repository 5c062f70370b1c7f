import type { DurableMap } from '@tidegate/disk';
import {
  type Clock,
  type CredentialSource,
  compareResourceVersions,
  ENDPOINT_SLICES,
  ENDPOINTS,
  type KubeClient,
  type KubeList,
  type KubeObject,
  type Link,
  type Logger,
  type Metrics,
  NODES,
  qualifiedName,
  type Random,
  type Resource,
  splitKey,
} from '@tidegate/kube';
import { IdentityDroppedError } from './errors.ts';
import { DEFAULT_LIMITS, type ViewLimits, victims } from './eviction.ts';
import { IdentityClients } from './identity-clients.ts';
import { itemOf, objectOf } from './item.ts';
import { type Lend, ManagedView, type ManagedViewOptions } from './managed-view.ts';
import { showViews, type ViewCounters, viewCounters } from './metrics.ts';
import { type CompleteList, PageAssembler } from './pages.ts';
import { SettledUpstream } from './settled-upstream.ts';
import { type ViewRecord, ViewStorage } from './storage.ts';
import type { View, ViewItem, ViewKey } from './view.ts';
import { groupOf, idOf, isComplete, NODE, reaches, SHARED, sharedKey, singleKey } from './view-key.ts';
import { type WipeGuard, wipeGuard } from './wipe-guard.ts';

export interface ViewsOptions {
  map: DurableMap;
  /** The client of the node itself. */
  node: KubeClient;
  nodeName: string;
  client(credentials: CredentialSource): KubeClient;
  upstream: Link;
  clock: Clock;
  random: Random;
  log: Logger;
  metrics: Metrics;
  limits?: Partial<ViewLimits>;
}

/** A view that stays in memory until it is released. */
export interface HeldView {
  readonly view: View;
  release(): void;
}

/** `absent`: there is no such object, as far as is known. `unknown`: nobody has ever looked. */
export type Lookup = { result: 'found'; item: ViewItem } | { result: 'absent' | 'unknown' };

/**
 * `doubted`: it is not to be believed, so answer from the view instead. `ahead`: the watch that keeps the view current is
 * broken off just now, and what came is newer.
 */
export type Stored = 'stored' | 'incomplete' | 'doubted' | 'too large' | 'ahead';

export interface ViewDescription {
  identity: string;
  resource: string;
  namespace: string;
  labelSelector: string;
  fieldSelector: string;
  state: View['state'];
  resourceVersion: string;
  objects: number;
  bytes: number;
  clients: number;
  /** When the API server was last heard. */
  heardAt: string;
  refused?: string;
}

/**
 * All views of this node: which there are, on disk and in memory, who holds them, and which have to go.
 *
 * One view: a client lists, and what it got is stored (`pages.ts`, `storage.ts`); it watches, and the view is held
 * (`managed-view.ts`) and followed (`follow.ts`) from the version of that list; what the API server says changes the
 * view (`memory-view.ts`), its copy on disk, and whoever listens, in one step. The link goes: the view stays as it is.
 * The link comes back: the watch goes on from the version of the view; a new list becomes changes (`difference.ts`),
 * unless it is not to be believed (`wipe-guard.ts`). The client goes, and a while later the view is on disk only.
 */
export class Views {
  readonly #options: ViewsOptions;
  readonly #storage: ViewStorage;
  readonly #limits: ViewLimits;
  readonly #clients: IdentityClients;
  readonly #guard: WipeGuard;
  readonly #counters: ViewCounters;
  readonly #pages: PageAssembler;
  /** For those that tell where endpoints are. */
  readonly #settledUpstream: SettledUpstream;
  readonly #views = new Map<string, ManagedView>();
  /** Those that one identity has of one resource. */
  readonly #groups = new Map<string, Set<ManagedView>>();
  readonly #release: (() => void)[];
  readonly #closing = new AbortController();

  private constructor(options: ViewsOptions, storage: ViewStorage) {
    const { node: client, nodeName, log, upstream, metrics } = options;
    this.#options = options;
    this.#storage = storage;
    this.#limits = { ...DEFAULT_LIMITS, ...options.limits };
    this.#clients = new IdentityClients(options.client);
    this.#counters = viewCounters(metrics);
    this.#pages = new PageAssembler(options.clock, this.#limits.viewBytes);
    const onDoubt = (key: ViewKey): void => this.#counters.doubted.inc(labelsOf(key));
    const knownUid = (): Promise<string | undefined> => this.#uidOfNode();
    this.#guard = wipeGuard({ client, nodeName, knownUid, log, onDoubt });
    this.#settledUpstream = new SettledUpstream(upstream, options.clock);
    this.#release = [
      () => this.#settledUpstream.close(),
      upstream.onChange(() => this.#upstreamChanged()),
      showViews(metrics, () => this.#views.values()),
    ];
  }

  /** Finds what was stored before; the objects themselves are read when somebody wants them. */
  static async open(options: ViewsOptions): Promise<Views> {
    const storage = new ViewStorage(options.map);
    const views = new Views(options, storage);
    for (const record of await storage.records(options.log)) views.#add(record.key, record);
    return views;
  }

  /** What every client of the node may read from, once it has the right to. */
  shared(resource: Resource): HeldView {
    return this.#hold(sharedKey(resource), () => this.#lendNode());
  }

  /** What one identity sees, followed with the credentials that it showed last. */
  private(key: ViewKey, credentials: CredentialSource): HeldView {
    const { identity } = key;
    if (identity === NODE) return this.#hold(key, () => this.#lendNode());
    this.#clients.seen(identity, credentials);
    return this.#hold(key, () => this.#clients.borrow(identity, credentials));
  }

  /** What is there already, without following it. */
  find(key: ViewKey): HeldView | undefined {
    const view = this.#views.get(idOf(key));
    return view?.progress === undefined ? undefined : view.hold();
  }

  /** What is known of one object, from all that the identity has seen. The newest word counts. */
  async covering(identity: string, resource: Resource, namespace: string, name: string): Promise<Lookup> {
    const objectKey = namespace === '' ? name : `${namespace}/${name}`;
    let best: { item: ViewItem | undefined; version: string } | undefined;
    for (const view of this.#group(identity, resource)) {
      const version = view.progress?.resourceVersion;
      if (version === undefined || !reaches(view.key, namespace)) continue;
      const item = await view.item(objectKey);
      if (item === undefined && !isComplete(view.key, namespace, name)) continue;
      const order = best === undefined ? 1 : (compareResourceVersions(version, best.version) ?? 0);
      if (order > 0 || (order === 0 && item !== undefined)) best = { item, version };
    }
    if (best === undefined) return { result: 'unknown' };
    return best.item === undefined ? { result: 'absent' } : { result: 'found', item: best.item };
  }

  /**
   * A list that was passed on to a client, or a page of one; `token` is what the page was asked for with. The view is
   * replaced when the last page is there.
   */
  async store(key: ViewKey, page: KubeList, token?: string): Promise<Stored> {
    const list = this.#pages.add(key, token, page);
    return list === undefined ? 'incomplete' : this.#store(key, list);
  }

  /** What a GET has shown. */
  async rememberObject(identity: string, resource: Resource, object: KubeObject): Promise<void> {
    const item = itemOf(object, resource);
    const followed = [...this.#group(identity, resource)].filter((view) => view.isFollowed);
    for (const view of followed) if ((await view.item(item.key)) !== undefined) return;
    const { namespace = '', name = '' } = object.metadata;
    await this.#store(singleKey(identity, resource, namespace, name), {
      listKind: `${object.kind}List`,
      resourceVersion: item.resourceVersion,
      items: [item],
    });
  }

  /** A GET has shown that it is gone. */
  async forgetObject(identity: string, resource: Resource, namespace: string, name: string): Promise<void> {
    const view = this.#views.get(idOf(singleKey(identity, resource, namespace, name)));
    if (view?.isIdle === true) await this.#drop(view, new Error('the object is gone'));
  }

  /** What the node wrote while the link is away shows in its views until the API server says something else. */
  async overlay(identity: string, resource: Resource, object: KubeObject): Promise<void> {
    const item = itemOf(object, resource);
    await Promise.all([...this.#group(identity, resource)].map((view) => view.overlay(item)));
  }

  /** Nothing is kept of it, and whoever watches with it is told. */
  async dropIdentity(identity: string): Promise<void> {
    const dropped = [...this.#views.values()].filter(({ key }) => key.identity === identity);
    const why = (view: ManagedView): Error => new IdentityDroppedError(qualifiedName(view.key.resource));
    await Promise.all(dropped.map((view) => this.#drop(view, why(view))));
  }

  describe(): ViewDescription[] {
    return [...this.#views.values()].map(description);
  }

  /** The map is left open. */
  async close(): Promise<void> {
    this.#closing.abort();
    for (const release of this.#release) release();
    await Promise.all([...this.#views.values()].map((view) => view.close()));
    await this.#storage.flush();
  }

  #hold(key: ViewKey, lend: Lend): HeldView {
    const managed = this.#get(key);
    const held = managed.hold();
    managed.follow(lend);
    this.#inBackground(this.#evict());
    return held;
  }

  async #store(key: ViewKey, list: CompleteList): Promise<Stored> {
    const bytes = list.items.reduce((sum, item) => sum + item.bytes.length, 0);
    const existing = this.#views.get(idOf(key));
    if (bytes > this.#limits.viewBytes) {
      this.#counters.tooLarge.inc(labelsOf(key));
      if (existing?.isIdle === true) await this.#drop(existing, new Error('it has become too large'));
      return 'too large';
    }
    const size = existing?.progress?.size ?? 0;
    if (!(await this.#guard({ key, size }, list.items, this.#closing.signal))) return 'doubted';
    const shown = await this.#get(key).store(list);
    await this.#evict();
    return shown ? 'stored' : 'ahead';
  }

  #get(key: ViewKey): ManagedView {
    return this.#views.get(idOf(key)) ?? this.#add(key);
  }

  #add(key: ViewKey, record?: ViewRecord): ManagedView {
    const view: ManagedView = new ManagedView(
      key,
      this.#optionsFor(key, () => this.#remove(view)),
      record,
    );
    this.#views.set(idOf(key), view);
    const group = groupOf(key.identity, key.resource);
    const members = this.#groups.get(group) ?? new Set();
    this.#groups.set(group, members.add(view));
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
      mostBytes: key.identity === SHARED ? Number.POSITIVE_INFINITY : this.#limits.viewBytes,
      confirm: this.#guard,
      onRelist: () => this.#counters.relists.inc(labels),
      onTooLarge: () => this.#counters.tooLarge.inc(labels),
      onGone: (objectKey) => this.#gone(key, objectKey),
      onForgotten,
    };
  }

  #lendNode(): ReturnType<Lend> {
    return { client: this.#options.node, giveBack: async () => {} };
  }

  #group(identity: string, resource: Resource): Iterable<ManagedView> {
    return this.#groups.get(groupOf(identity, resource)) ?? [];
  }

  async #uidOfNode(): Promise<string | undefined> {
    const node = await this.covering(NODE, NODES, '', this.#options.nodeName);
    return node.result === 'found' ? objectOf(node.item).metadata.uid : undefined;
  }

  #upstreamChanged(): void {
    for (const view of this.#views.values()) view.upstreamChanged();
  }

  /** A wider view says so; what a GET has shown before must not outlive it. */
  #gone({ identity, resource }: ViewKey, objectKey: string): void {
    const { namespace = '', name } = splitKey(objectKey);
    this.#inBackground(this.forgetObject(identity, resource, namespace, name));
  }

  async #evict(): Promise<void> {
    for (const view of victims(this.#views.values(), this.#limits)) {
      this.#counters.evicted.inc(labelsOf(view.key));
      await this.#drop(view, new Error('there are too many views'));
    }
  }

  async #drop(view: ManagedView, why: Error): Promise<void> {
    this.#remove(view);
    await view.drop(why);
  }

  #remove(view: ManagedView): void {
    const { identity, resource } = view.key;
    const group = groupOf(identity, resource);
    const members = this.#groups.get(group);
    members?.delete(view);
    if (members?.size === 0) this.#groups.delete(group);
    const id = idOf(view.key);
    if (this.#views.get(id) === view) this.#views.delete(id);
  }

  #inBackground(work: Promise<void>): void {
    work.catch((error) => this.#options.log.error({ err: error }, 'can not give up a view'));
  }
}

const isAboutEndpoints = ({ group, resource }: Resource): boolean =>
  [ENDPOINTS, ENDPOINT_SLICES].some((each) => each.group === group && each.resource === resource);

const labelsOf = ({ resource }: ViewKey): { resource: string } => ({ resource: qualifiedName(resource) });

function description(view: ManagedView): ViewDescription {
  const { key, progress, holders, isFollowed, refusal } = view;
  const { identity, resource, namespace, labelSelector, fieldSelector } = key;
  return {
    identity,
    resource: `${qualifiedName(resource)}/${resource.version}`,
    namespace,
    labelSelector,
    fieldSelector,
    state: progress === undefined ? 'empty' : isFollowed ? 'following' : 'stored',
    resourceVersion: progress?.resourceVersion ?? '',
    objects: progress?.size ?? 0,
    bytes: progress?.bytes ?? 0,
    clients: holders,
    heardAt: progress === undefined ? '' : new Date(progress.heardAt).toISOString(),
    ...(refusal === undefined ? {} : { refused: refusal.message }),
  };
}
