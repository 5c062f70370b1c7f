import {
  type Clock,
  type ConnectionState,
  fixedCredential,
  isOlderVersion,
  type KubeList,
  type KubeObject,
} from '@tidegate/kube';
import { ApiError, type ListOptions, notFound, type Representation } from '@tidegate/serving';
import type { Access } from '../access/index.ts';
import { answerList, answerObject, answerUpstreamList, answerWatch } from '../answers/index.ts';
import type { Identity } from '../identity/index.ts';
import { EVERYTHING, type Projections, type Selection, selectable } from '../projections/index.ts';
import { UpstreamUnavailable, unavailable } from '../upstream/index.ts';
import {
  type HeldView,
  itemOf,
  NothingStoredError,
  objectOf,
  TooManyWatchesError,
  untilUpToDate,
  type View,
  type ViewKey,
  type Views,
  ViewTooLargeError,
} from '../views/index.ts';
import { type ChainFor, namespaceOf, type ResourceCall, resourceOf } from './call.ts';
import { badGateway } from './failures.ts';
import { type Forwarding, jsonOf, passWhole, type WholeAnswer } from './forwarding.ts';
import { type ReadOptions, readOptions } from './read-options.ts';
import type { WatchShares } from './watch-shares.ts';

export interface PrivateReadsOptions {
  views: Views;
  projections: Projections;
  forwarding: Forwarding;
  access: Pick<Access, 'check'>;
  watches: WatchShares;
  chainFor: ChainFor;
  upstream: ConnectionState;
  clock: Clock;
}

type Watch = Extract<ReadOptions, { watch: true }>;
type List = Extract<ReadOptions, { watch: false }>;

/**
 * Reads of everything that is not shared. Lists and gets come from the API server, and the hub stores the responses;
 * watches come from a view that follows the API server. While no API server is reachable, all of them come from what the
 * hub has stored for the same identity.
 */
export class PrivateReads {
  readonly #options: PrivateReadsOptions;

  constructor(options: PrivateReadsOptions) {
    this.#options = options;
  }

  /** Answers a get, list or watch. */
  async serve(call: ResourceCall, representation: Representation): Promise<void> {
    if (call.info.verb === 'get') return this.#get(call, representation);
    const read = readOptions(call.target.searchParams, namespaceOf(call.info));
    return read.watch ? this.#watch(call, read, representation) : this.#list(call, read, representation);
  }

  /** Answers a get or list from the API server, without storing the response. Throws UpstreamUnavailable. */
  async ask(call: ResourceCall, representation: Representation): Promise<void> {
    const answer = await this.#read(call, representation);
    if (answer === undefined) return;
    if (answer.status !== 200) return passWhole(call, answer);
    if (call.info.verb === 'get') return this.#answerGet(call, jsonOf(answer), representation);
    await this.#answerUpstreamList(call, answer, parseList(answer), representation);
  }

  /** Answers from a view for exactly this watch, which is created if there is none. */
  async #watch(call: ResourceCall, read: Watch, representation: Representation): Promise<void> {
    const key = keyOf(call, read.selection);
    // If the client may not watch any more, its copy is deleted here, and the API server refuses the new view.
    await this.#mayUseCopy(call, key);
    const held = this.#holdFor(call, key);
    if (held === undefined) return this.#options.forwarding.pass(call);
    try {
      // Without a resourceVersion, a watch starts with the newest state, not with the state from before an outage.
      if (read.options.resourceVersion === '')
        await untilUpToDate(held.view, this.#options.upstream, call.signal);
      else await held.view.ready(call.signal);
      await this.#answerWatch(call, held.view, EVERYTHING, read, representation);
    } catch (error) {
      if (call.exchange.response.headersSent) throw error;
      if (error instanceof NothingStoredError)
        return await this.#watchWider(call, read, representation, error);
      // Without filters, the API server can serve the watch directly. It stops when the upstream goes offline.
      if (error instanceof ViewTooLargeError && this.#options.chainFor(call).filters.length === 0)
        return await this.#options.forwarding.pass(call);
      throw error;
    } finally {
      held.release();
    }
  }

  /** Undefined if the client has too many views, and the API server can serve the watch directly. */
  #holdFor(call: ResourceCall, key: ViewKey): HeldView | undefined {
    try {
      return this.#options.views.private(key, credentialsOf(call.identity));
    } catch (error) {
      if (error instanceof TooManyWatchesError && this.#options.chainFor(call).filters.length === 0)
        return undefined;
      throw error;
    }
  }

  /** This exact watch was never opened, but a view without selectors may contain all of its objects. */
  async #watchWider(
    call: ResourceCall,
    read: Watch,
    representation: Representation,
    otherwise: Error,
  ): Promise<void> {
    const held = this.#findWider(call, read.selection);
    if (held === undefined) throw otherwise;
    try {
      await held.view.ready(call.signal);
      await this.#answerWatch(call, held.view, read.selection, read, representation);
    } finally {
      held.release();
    }
  }

  async #answerWatch(
    call: ResourceCall,
    view: View,
    selection: Selection,
    { options }: Watch,
    representation: Representation,
  ): Promise<void> {
    const { projections, clock, chainFor, watches } = this.#options;
    const hold = projections.hold(view, () => chainFor(call), selection);
    const queue = watches.queue(call.identity);
    const context = { clock, signal: call.signal, queued: queue.resize };
    try {
      await answerWatch(call.exchange, hold, options, representation, context);
    } finally {
      queue.close();
      hold.release();
    }
  }

  /** Prefers a view that is current enough, then the API server, then what is stored. */
  async #list(call: ResourceCall, read: List, representation: Representation): Promise<void> {
    const key = keyOf(call, read.selection);
    const { views, upstream } = this.#options;
    if (upstream.online) {
      const followed = views.find(key);
      try {
        const fits = followed !== undefined && isServedFrom(followed.view, read.options);
        if (fits && (await this.#mayUseCopy(call, key)))
          return await this.#answerList(call, followed.view, EVERYTHING, read.options, representation);
      } finally {
        followed?.release();
      }
      try {
        return await this.#listUpstream(call, key, read, representation);
      } catch (error) {
        if (!(error instanceof UpstreamUnavailable)) throw error;
      }
    }
    await this.#listStored(call, key, read, representation);
  }

  /**
   * Whether the client may still read what is stored, while an API server is reachable. The copy was read with its
   * permissions, but a watch that keeps a copy current continues after a permission was revoked. So the hub asks, at
   * most every five minutes, see Access. If the answer is no, the copy is deleted.
   */
  async #mayUseCopy(call: ResourceCall, key: ViewKey): Promise<boolean> {
    const { access, views, upstream } = this.#options;
    const { identity, info, signal } = call;
    if (identity.kind !== 'bearer' || !upstream.online || !views.has(key)) return true;
    const namespace = namespaceOf(info);
    try {
      await access.check(identity, { ...info, namespace }, signal);
      return true;
    } catch (error) {
      if (!(error instanceof ApiError) || error.status.code !== 403) throw error;
      await views.forbid(identity.key, resourceOf(info), namespace, info.name);
      return false;
    }
  }

  /** Answers from the API server, and stores the response for the time when no API server is reachable. */
  async #listUpstream(
    call: ResourceCall,
    key: ViewKey,
    read: List,
    representation: Representation,
  ): Promise<void> {
    const { views } = this.#options;
    const answer = await this.#read(call, representation);
    if (answer === undefined) return;
    if (answer.status !== 200) return passWhole(call, answer);
    const list = parseList(answer);
    // A list at an exact old version does not describe the current state, so it is not stored.
    const stored = read.options.exact
      ? 'stored'
      : await views.store(key, list, read.options.continue === '' ? undefined : read.options.continue);
    const chain = this.#options.chainFor(call);
    // A filtered list carries the version of the view, so that the watch that follows can continue from it.
    const isWhole = read.options.continue === '' && !read.options.exact && stored === 'stored';
    // 'rejected' means that the view does not trust the list, for example because it is unexpectedly empty.
    // See `WipeGuard` in views/.
    if (stored === 'rejected' || (isWhole && chain.filters.length > 0))
      return this.#listStored(call, key, read, representation);
    await this.#answerUpstreamList(call, answer, list, representation);
  }

  /** Reads the response of the API server. Undefined if the hub cannot buffer it, and the client has got it unchanged. */
  #read(call: ResourceCall, representation: Representation): Promise<WholeAnswer | undefined> {
    const { forwarding } = this.#options;
    return this.#isPassed(call, representation) ? forwarding.readJsonOrPass(call) : forwarding.readJson(call);
  }

  /** Whether the client gets the response of the API server unchanged. */
  #isPassed(call: ResourceCall, { as, format }: Representation): boolean {
    return this.#options.chainFor(call).filters.length === 0 && as === undefined && format === 'json';
  }

  async #answerUpstreamList(
    call: ResourceCall,
    answer: WholeAnswer,
    list: KubeList,
    representation: Representation,
  ): Promise<void> {
    if (this.#isPassed(call, representation)) return passWhole(call, answer);
    const chain = this.#options.chainFor(call);
    const shown = list.items.flatMap((item) => {
      const { kind, apiVersion } = list;
      return chain.apply({ ...item, apiVersion, kind: kind.replace(/List$/, '') }) ?? [];
    });
    await answerUpstreamList(call.exchange, { ...list, items: shown }, representation);
  }

  /** Answers from the view of this list, or from a view that contains all of its objects. */
  async #listStored(
    call: ResourceCall,
    key: ViewKey,
    read: List,
    representation: Representation,
  ): Promise<void> {
    const exact = this.#options.views.find(key);
    const held = exact ?? this.#findWider(call, read.selection);
    if (held === undefined)
      throw unavailable(
        `the API server is unreachable, and the hub has not stored this list of ${call.info.resource}`,
      );
    try {
      await held.view.ready(call.signal);
      const selection = exact === undefined ? read.selection : EVERYTHING;
      await this.#answerList(call, held.view, selection, { ...read.options, exact: false }, representation);
    } finally {
      held.release();
    }
  }

  async #answerList(
    call: ResourceCall,
    view: View,
    selection: Selection,
    options: ListOptions,
    representation: Representation,
  ): Promise<void> {
    const { projections, clock, chainFor } = this.#options;
    const hold = projections.hold(view, () => chainFor(call), selection);
    try {
      await answerList(call.exchange, hold, options, representation, { clock, signal: call.signal });
    } finally {
      hold.release();
    }
  }

  /**
   * Asks the API server, or answers with what this identity has read before. A 404 needs proof, for example a stored
   * list of the namespace that does not contain the object. Otherwise the hub cannot know whether the object exists,
   * and returns 503: a client would take a 404 for the deletion of the object.
   */
  async #get(call: ResourceCall, representation: Representation): Promise<void> {
    if (this.#options.upstream.online) {
      try {
        return await this.#getUpstream(call, representation);
      } catch (error) {
        if (!(error instanceof UpstreamUnavailable)) throw error;
      }
    }
    const { info, identity } = call;
    const namespace = namespaceOf(info);
    const known = await this.#options.views.covering(identity.key, resourceOf(info), namespace, info.name);
    if (known.result === 'unknown')
      throw unavailable(
        `the API server is unreachable, and this client has never read ${info.resource} ${JSON.stringify(info.name)} through the hub`,
      );
    if (known.result !== 'found') throw notFound(info, info.name);
    await this.#answerGet(call, objectOf(known.item), representation);
  }

  async #getUpstream(call: ResourceCall, representation: Representation): Promise<void> {
    const { views } = this.#options;
    const { info, identity } = call;
    const answer = await this.#read(call, representation);
    if (answer === undefined) return;
    if (answer.status === 404)
      await views.forgetObject(identity.key, resourceOf(info), namespaceOf(info), info.name);
    if (answer.status !== 200) return passWhole(call, answer);
    const object = jsonOf(answer);
    await views.rememberObject(identity.key, resourceOf(info), object);
    if (this.#isPassed(call, representation)) return passWhole(call, answer);
    await this.#answerGet(call, object, representation);
  }

  async #answerGet(call: ResourceCall, object: KubeObject, representation: Representation): Promise<void> {
    const shown = this.#options.chainFor(call).apply(object);
    if (shown === undefined) throw notFound(call.info, call.info.name);
    await answerObject(call.exchange, itemOf(shown, resourceOf(call.info)), representation);
  }

  /** A stored view without selectors, of the namespace or of all namespaces, that contains every selected object. */
  #findWider(call: ResourceCall, selection: Selection): HeldView | undefined {
    if (!selectable(resourceOf(call.info), selection.fields)) return undefined;
    const { views } = this.#options;
    const all = { ...EVERYTHING, namespace: selection.namespace };
    return views.find(keyOf(call, all)) ?? views.find(keyOf(call, EVERYTHING));
  }
}

const keyOf = ({ identity, info }: ResourceCall, { namespace, labels, fields }: Selection): ViewKey => ({
  identity: identity.key,
  resource: resourceOf(info),
  namespace,
  labelSelector: `${labels}`,
  fieldSelector: `${fields}`,
});

const credentialsOf = (identity: Identity) =>
  fixedCredential(identity.kind === 'bearer' ? { authorization: `Bearer ${identity.token}` } : {});

/** A list that does not ask for the newest state is answered from a view that follows the API server, if there is one. */
const isServedFrom = (view: View, { resourceVersion, exact, continue: token }: ListOptions): boolean =>
  view.state === 'following' &&
  resourceVersion !== '' &&
  !exact &&
  token === '' &&
  !isOlderVersion(view.resourceVersion, resourceVersion);

function parseList(answer: WholeAnswer): KubeList {
  const list = jsonOf(answer) as unknown as KubeList;
  if (!list.kind.endsWith('List'))
    throw badGateway('the API server did not return a list; the hub withholds the response');
  return { ...list, items: list.items ?? [] };
}
