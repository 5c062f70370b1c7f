import type { Clock, ConnectionState, Resource } from '@tidegate/kube';
import { ApiError, notFound, type Representation } from '@tidegate/serving';
import type { Access } from '../access/index.ts';
import { answerList, answerObject, answerWatch } from '../answers/index.ts';
import type { Chain, ContextViews } from '../filters/index.ts';
import type { AnonymousIdentity, Identity } from '../identity/index.ts';
import { type Projections, selectable } from '../projections/index.ts';
import { UNLIMITED } from '../shares/index.ts';
import { TooManyWatchesError, untilUpToDate, type View, type Views } from '../views/index.ts';
import { type ChainFor, namespaceOf, type ResourceCall, resourceOf } from './call.ts';
import { forgetForbidden } from './forbidden.ts';
import { readOptions } from './read-options.ts';
import type { RecentWrites } from './recent-writes.ts';
import { isShared } from './shared-resources.ts';
import type { WatchShares } from './watch-shares.ts';

export interface SharedReadsOptions {
  views: Views;
  contextViews: ContextViews;
  projections: Projections;
  access: Pick<Access, 'check' | 'withdraw'>;
  recentWrites: RecentWrites;
  watches: WatchShares;
  chainFor: ChainFor;
  /** Whether objects of the resource are more current here than in the API server, see site/. */
  isCorrected(resource: Resource): boolean;
  upstream: ConnectionState;
  clock: Clock;
}

/**
 * Reads of shared resources. One watch upstream, with the node's credentials, serves all clients of the node. A client
 * gets data from it only after the API server has authorized that client for the same read.
 */
export class SharedReads {
  readonly #options: SharedReadsOptions;

  constructor(options: SharedReadsOptions) {
    this.#options = options;
  }

  /** Whether the resource is shared and the hub can evaluate the selectors of the request itself. */
  takes(call: ResourceCall): boolean {
    const { info, target, identity } = call;
    const resource = resourceOf(info);
    if (identity.kind === 'anonymous' || !isShared(resource)) return false;
    if (info.verb === 'get') return true;
    return selectable(resource, readOptions(target.searchParams, namespaceOf(info)).selection.fields);
  }

  /**
   * Returns false if the answer must come from the API server, because the client asks for a state that the view does
   * not have yet. With `available`, the client gets what the view has. Throws TooManyWatchesError.
   */
  async serve(
    call: ResourceCall,
    representation: Representation,
    wanted: 'newest' | 'available',
  ): Promise<boolean> {
    const { views } = this.#options;
    const { info, identity, signal } = call;
    if (identity.kind === 'anonymous') return false;
    await this.#authorize(call, identity);
    const place = info.verb === 'watch' ? this.#options.watches.sharedWatch(identity) : UNLIMITED;
    if (place === undefined) throw new TooManyWatchesError(info.resource);
    const held = views.shared(resourceOf(info));
    try {
      await held.view.ready(signal);
      if (this.#options.chainFor(call).filters.length > 0) await this.#untilContextIsKnown(signal);
      if (wanted === 'newest' && !(await this.#canAnswer(call, held.view))) return false;
      await this.#answer(call, held.view, representation);
      return true;
    } finally {
      place.close();
      held.release();
    }
  }

  /** A refused client may also have copies of its own, for example of a list with a selector that the hub cannot evaluate. */
  async #authorize(call: ResourceCall, identity: Exclude<Identity, AnonymousIdentity>): Promise<void> {
    const { access } = this.#options;
    try {
      await access.check(identity, { ...call.info, namespace: namespaceOf(call.info) }, call.signal);
    } catch (error) {
      if (error instanceof ApiError && error.status.code === 403) await forgetForbidden(call, this.#options);
      throw error;
    }
  }

  /**
   * Filters look up Services and pools. A cluster may lack the CRDs of the pools; then no node is in a pool.
   * Without the Services, however, the filters cannot decide about any endpoint, so a failure to read them
   * fails the request.
   */
  async #untilContextIsKnown(signal: AbortSignal): Promise<void> {
    const { services, nodePools, nodeGroups } = this.#options.contextViews;
    const pools = [nodePools, nodeGroups].map(({ view }) => view.ready(signal));
    await Promise.all([services.view.ready(signal), Promise.allSettled(pools)]);
  }

  async #answer(call: ResourceCall, view: View, representation: Representation): Promise<void> {
    const { projections, clock, chainFor, upstream } = this.#options;
    const { info, target, exchange, signal, identity } = call;
    const chain = (): Chain => chainFor(call);
    if (info.verb === 'get') {
      const key = info.namespace === '' ? info.name : `${info.namespace}/${info.name}`;
      const item = projections.get(view, chain(), key);
      if (item === undefined) throw notFound(info, info.name);
      return answerObject(exchange, item, representation);
    }
    const read = readOptions(target.searchParams, namespaceOf(info));
    if (read.watch && read.options.resourceVersion === '') await untilUpToDate(view, upstream, signal);
    const hold = projections.hold(view, chain, read.selection);
    const queue = this.#options.watches.queue(identity);
    const context = { clock, signal, queued: queue.resize };
    try {
      if (read.watch) await answerWatch(exchange, hold, read.options, representation, context);
      else await answerList(exchange, hold, read.options, representation, context);
    } finally {
      queue.close();
      hold.release();
    }
  }

  /**
   * Whether the view can answer the request, or whether it has to go to the API server. A watch is always
   * served from the view.
   */
  async #canAnswer(call: ResourceCall, view: View): Promise<boolean> {
    const { projections, chainFor, upstream } = this.#options;
    const { info, target, signal } = call;
    if (info.verb === 'get') return this.#isNewest(call, view);
    const { watch, options, selection } = readOptions(target.searchParams, namespaceOf(info));
    if (watch || !upstream.online) return true;
    if (options.continue !== '') return false;
    if (options.exact) {
      // A projection can have a version that the hub created itself, which no API server knows.
      const hold = projections.hold(view, () => chainFor(call), selection);
      hold.release();
      return options.resourceVersion === hold.projection.resourceVersion;
    }
    if (options.resourceVersion !== '') return true;
    // The client will start a watch at the version of this list, so the list must have a version of the view,
    // not one of the API server.
    await untilUpToDate(view, upstream, signal);
    return this.#isNewest(call, view);
  }

  /**
   * Whether the view shows what the API server would, as far as this node can know. While no API server is reachable,
   * the view is the newest state there is.
   */
  #isNewest({ info }: ResourceCall, view: View): boolean {
    const { upstream, recentWrites, isCorrected } = this.#options;
    if (!upstream.online) return true;
    const resource = resourceOf(info);
    const isCurrent = view.state === 'following' || isCorrected(resource);
    return isCurrent && recentWrites.shownAt(resource, view.resourceVersion);
  }
}
