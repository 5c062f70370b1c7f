import { type ConnectionState, type KubeObject, NODES } from '@tidegate/kube';
import { ApiError, alreadyExists } from '@tidegate/serving';
import { answerObject } from '../answers/index.ts';
import { type Journal, type WriteRequest, written } from '../journal/index.ts';
import type { OwnPods } from '../site/index.ts';
import type { IssuedTokens } from '../tokens/index.ts';
import { UpstreamUnavailable, unavailable } from '../upstream/index.ts';
import { itemOf, objectOf, type Views } from '../views/index.ts';
import { type ChainFor, namespaceOf, type ResourceCall, resourceOf } from './call.ts';
import { decodeBody } from './decode-body.ts';
import { type Forwarding, jsonOf, passBack, passWhole, readBody } from './forwarding.ts';
import type { RecentWrites } from './recent-writes.ts';
import { isShared } from './shared-resources.ts';

export interface WritesOptions {
  forwarding: Forwarding;
  views: Views;
  journal: Journal;
  tokens: IssuedTokens;
  recentWrites: RecentWrites;
  chainFor: ChainFor;
  /** Receives the status of pods that the kubelet reports. */
  pods: Pick<OwnPods, 'lastReported' | 'reported'>;
  nodeName: string;
  upstream: ConnectionState;
  /** Called when a write was journaled while an API server is reachable. */
  replaySoon(): void;
}

/** The largest request body that the hub reads. The API server has a limit of 3 MiB. */
const MAX_BODY_BYTES = 4 * 1024 * 1024;

/**
 * Writes go to the API server. While no API server is reachable, certain writes of the node itself go into the journal
 * (see `journal/`); all other writes get 503. The hub never acknowledges a write that it may lose.
 */
export class Writes {
  readonly #options: WritesOptions;

  constructor(options: WritesOptions) {
    this.#options = options;
  }

  async serve(call: ResourceCall): Promise<void> {
    const { journal, upstream, nodeName } = this.#options;
    const { info, identity } = call;
    if (identity.kind === 'node') {
      if (journal.takes(info)) return this.#journaled(call);
      if (isTokenRequest(call)) return this.#tokenRequest(call);
      if (upstream.online && info.verb === 'create' && (isNodes(call) || isLease(call)))
        return this.#remembered(call);
      if (!upstream.online && info.verb === 'create' && isNodes(call))
        return this.#registerOffline(call, nodeName);
    }
    if (!upstream.online) throw unreachableFor(call);
    if (this.#options.chainFor(call).filters.length > 0) return this.#filtered(call);
    const answer = await this.#options.forwarding.send(call);
    if (answer.status < 300 && isShared(resourceOf(info))) return this.#sharedWrite(call, answer);
    if (answer.status < 300 && this.#changesCopy(call)) return this.#copiedWrite(call, answer);
    await passBack(call, answer);
  }

  /** Whether the client has read this object before, so that the hub has a copy that the write makes out of date. */
  #changesCopy({ info, identity, target }: ResourceCall): boolean {
    const { name, subresource, verb } = info;
    if (name === '' || subresource !== '' || target.searchParams.has('dryRun')) return false;
    if (!['update', 'patch', 'delete'].includes(verb)) return false;
    return this.#options.views.hasObject(identity.key, resourceOf(info), namespaceOf(info), name);
  }

  /** Without a link, the client must not read what the object was before its own write. */
  async #copiedWrite(call: ResourceCall, answer: Awaited<ReturnType<Forwarding['send']>>): Promise<void> {
    const { views } = this.#options;
    const { info, identity } = call;
    const resource = resourceOf(info);
    const forget = (): Promise<void> =>
      views.forgetObject(identity.key, resource, namespaceOf(info), info.name);
    if (info.verb === 'delete' || !isPlainJson(answer)) {
      await forget();
      return passBack(call, answer);
    }
    const read = await this.#options.forwarding.read(call, answer);
    if ('rest' in read) {
      await forget();
      return passBack(call, read.rest);
    }
    const object = jsonOf(read.whole);
    // A client can ask for a Table, or for metadata only. Neither is the object.
    if (isWholeObject(call, object)) await views.rememberObject(identity.key, resource, object);
    else await forget();
    passWhole(call, read.whole);
  }

  /**
   * Journals the write if no API server is reachable, and also if an older write to the same object is still waiting in
   * the journal: if the new write overtook it, the replay would overwrite it with the older one.
   */
  async #journaled(call: ResourceCall): Promise<void> {
    const { journal, upstream, replaySoon } = this.#options;
    const body = await readBody(call, MAX_BODY_BYTES);
    const waiting = journal.holds(call.info);
    if (upstream.online && !waiting) {
      try {
        return await this.#pass(call, body);
      } catch (error) {
        if (!(error instanceof UpstreamUnavailable)) throw error;
      }
    }
    await this.#write(call, body);
    if (upstream.online && waiting) replaySoon();
  }

  async #pass(call: ResourceCall, body: Buffer): Promise<void> {
    const { forwarding, chainFor } = this.#options;
    this.#report(call, body);
    if (chainFor(call).filters.length > 0) return this.#filtered(call, body);
    if (isLease(call)) return this.#remembered(call, body);
    await forwarding.pass(call, { body });
  }

  /** While the reports of the kubelet count, a status that goes to the API server counts as well. */
  #report(call: ResourceCall, body: Buffer): void {
    const { pods } = this.#options;
    const { info } = call;
    const pod = isPod(call) ? pods.lastReported(`${info.namespace}/${info.name}`) : undefined;
    if (pod === undefined) return;
    try {
      pods.reported(written(pod, 'status', requestOf(call, body), decodeBody));
    } catch (error) {
      // The API server decides about the write, and its answer reaches the kubelet.
      if (!(error instanceof ApiError)) throw error;
    }
  }

  /**
   * Stores the object in the response. A kubelet never watches its Lease and reads it at most once, so the responses to
   * its writes are all that the hub learns of it. A new Node is stored for the same reason: so that the hub knows it
   * before the kubelet reads it for the first time.
   */
  async #remembered(call: ResourceCall, body?: Buffer): Promise<void> {
    const answer = await this.#options.forwarding.readJson(call, body);
    if (answer.status < 300)
      await this.#options.views.rememberObject('node', resourceOf(call.info), jsonOf(answer));
    passWhole(call, answer);
  }

  /** Writes to the journal, and to the views of the node, so that the kubelet reads its own writes. */
  async #write(call: ResourceCall, body: Buffer): Promise<void> {
    const { journal, views, chainFor, pods } = this.#options;
    const { info, exchange } = call;
    const resource = resourceOf(info);
    const known =
      info.name === '' ? undefined : await views.covering('node', resource, namespaceOf(info), info.name);
    const base = known?.result === 'found' ? objectOf(known.item) : undefined;
    const object = await journal.write(requestOf(call, body), base);
    if (isPod(call)) pods.reported(object);
    await views.overlay('node', resource, object);
    const shown = chainFor(call).apply(object) ?? object;
    await answerObject(
      exchange,
      itemOf(shown, resource),
      { format: 'json' },
      info.verb === 'create' ? 201 : 200,
    );
  }

  /**
   * A kubelet requests the service account tokens of its pods. While no API server is reachable, it gets the token that
   * was issued for the same request before.
   */
  async #tokenRequest(call: ResourceCall): Promise<void> {
    const { tokens, forwarding, upstream } = this.#options;
    const { info, exchange } = call;
    const body = await readBody(call, MAX_BODY_BYTES);
    const request = decodeBody(exchange.request.headers['content-type'] ?? '', body);
    if (upstream.online) {
      try {
        const answer = await forwarding.readJson(call, body);
        if (answer.status < 300) tokens.remember(info, request, jsonOf(answer));
        return passWhole(call, answer);
      } catch (error) {
        if (!(error instanceof UpstreamUnavailable)) throw error;
      }
    }
    const stored = await tokens.find(info, request);
    if (stored === undefined)
      throw unavailable(
        `the API server is unreachable, and the hub has no token of service account ${info.namespace}/${info.name} for this request`,
      );
    await exchange.object(201, stored);
  }

  /** A kubelet that restarts tries to create its Node, and continues if the answer is AlreadyExists. */
  async #registerOffline(call: ResourceCall, nodeName: string): Promise<void> {
    const known = await this.#options.views.covering('node', NODES, '', nodeName);
    if (known.result === 'found') throw alreadyExists(call.info, nodeName);
    throw unreachableFor(call);
  }

  /** Filters the object in the response, as reads do, so that the client does not see two versions of it. */
  async #filtered(call: ResourceCall, body?: Buffer): Promise<void> {
    const answer = await this.#options.forwarding.readJson(call, body);
    if (answer.status >= 300) return passWhole(call, answer);
    const object = jsonOf(answer);
    const shown = this.#options.chainFor(call).apply(object) ?? object;
    await answerObject(
      call.exchange,
      itemOf(shown, resourceOf(call.info)),
      { format: 'json' },
      answer.status,
    );
  }

  /** Records the version of a write to a shared resource. See RecentWrites. */
  async #sharedWrite(call: ResourceCall, answer: Awaited<ReturnType<Forwarding['send']>>): Promise<void> {
    const { recentWrites } = this.#options;
    const resource = resourceOf(call.info);
    if (!isPlainJson(answer)) {
      recentWrites.wrote(resource, undefined);
      return passBack(call, answer);
    }
    const read = await this.#options.forwarding.read(call, answer);
    if ('rest' in read) {
      recentWrites.wrote(resource, undefined);
      return passBack(call, read.rest);
    }
    recentWrites.wrote(resource, jsonOf(read.whole).metadata?.resourceVersion);
    passWhole(call, read.whole);
  }
}

const isPlainJson = ({ headers }: Awaited<ReturnType<Forwarding['send']>>): boolean =>
  /^application\/json/.test(`${headers['content-type']}`) && headers['content-encoding'] === undefined;

/** Whether the response is the object that the path names, and not another form of it, which has a group of its own. */
const isWholeObject = ({ info: { name } }: ResourceCall, { apiVersion, metadata }: KubeObject): boolean =>
  metadata.name === name && !`${apiVersion}`.startsWith('meta.k8s.io/');

const isNodes = ({ info: { group, resource, subresource } }: ResourceCall): boolean =>
  group === '' && resource === 'nodes' && subresource === '';

const isPod = ({ info: { group, resource } }: ResourceCall): boolean => group === '' && resource === 'pods';

const requestOf = ({ info, target, exchange }: ResourceCall, body: Buffer): WriteRequest => ({
  info,
  query: target.searchParams,
  contentType: exchange.request.headers['content-type'] ?? '',
  body,
});

const isLease = ({ info: { group, resource } }: ResourceCall): boolean =>
  group === 'coordination.k8s.io' && resource === 'leases';

const isTokenRequest = ({ info: { group, resource, subresource, verb } }: ResourceCall): boolean =>
  group === '' && resource === 'serviceaccounts' && subresource === 'token' && verb === 'create';

const unreachableFor = ({ info: { verb, resource, subresource } }: ResourceCall) =>
  unavailable(
    `the API server is unreachable, and only it can ${verb} ${resource}${subresource === '' ? '' : `/${subresource}`}; nothing was changed`,
  );
