import { type Link, type Logger, NODES } from '@tidegate/kube';
import { alreadyExists } from '@tidegate/serving';
import { answerObject } from '../answers/index.ts';
import type { Chain } from '../filters/filter.ts';
import type { Journal } from '../journal/index.ts';
import type { IssuedTokens } from '../tokens/index.ts';
import { unavailable } from '../unavailable.ts';
import { UpstreamUnavailable } from '../upstream/index.ts';
import { itemOf, objectOf } from '../views/item.ts';
import type { Views } from '../views/views.ts';
import { namespaceOf, type ResourceCall, resourceOf } from './call.ts';
import { decodeBody } from './decode-body.ts';
import { type Forwarding, jsonOf, passBack, passWhole, readAll, readBody } from './forwarding.ts';
import type { RecentWrites } from './recent-writes.ts';
import { isShared } from './shared-resources.ts';

export interface WritesOptions {
  forwarding: Forwarding;
  views: Views;
  journal: Journal;
  tokens: IssuedTokens;
  recentWrites: RecentWrites;
  chainFor(call: ResourceCall): Chain;
  nodeName: string;
  link: Link;
  /** Something waits in the journal although the link is there. */
  replaySoon(): void;
  log: Logger;
}

/** What a client may send that the hub has to read. */
const MOST_READ = 4 * 1024 * 1024;

/**
 * Writes go to the API server. While it is away the node's own go into the journal, and everybody else is told to come
 * back later: nothing is ever said to be done that is not.
 */
export class Writes {
  readonly #options: WritesOptions;

  constructor(options: WritesOptions) {
    this.#options = options;
  }

  async serve(call: ResourceCall): Promise<void> {
    const { journal, link, nodeName } = this.#options;
    const { info, identity } = call;
    if (identity.kind === 'node') {
      if (journal.takes(info)) return this.#journaled(call);
      if (isTokenRequest(call)) return this.#tokenRequest(call);
      if (link.online && info.verb === 'create' && (isNodes(call) || isLease(call)))
        return this.#remembered(call);
      if (!link.online && info.verb === 'create' && isNodes(call))
        return this.#registerOffline(call, nodeName);
    }
    if (!link.online) throw awayFor(call);
    if (this.#options.chainFor(call).filters.length > 0) return this.#filtered(call);
    const answer = await this.#options.forwarding.send(call);
    if (answer.status < 300 && isShared(resourceOf(info))) return this.#sharedWrite(call, answer);
    await passBack(call, answer);
  }

  /** Kept where the link is away, and where something older of the same object still waits: order is order. */
  async #journaled(call: ResourceCall): Promise<void> {
    const { journal, link, replaySoon } = this.#options;
    const body = await readBody(call, MOST_READ);
    const waiting = journal.holds(call.info);
    if (link.online && !waiting) {
      try {
        return await this.#pass(call, body);
      } catch (error) {
        if (!(error instanceof UpstreamUnavailable)) throw error;
      }
    }
    await this.#write(call, body);
    if (link.online && waiting) replaySoon();
  }

  async #pass(call: ResourceCall, body: Buffer): Promise<void> {
    const { forwarding, chainFor } = this.#options;
    if (chainFor(call).filters.length > 0) return this.#filtered(call, body);
    if (isLease(call)) return this.#remembered(call, body);
    await forwarding.pass(call, { body });
  }

  /**
   * Kubelets never watch their lease, and read it once at most: what they are answered is what is known of it. And a node
   * is known from its first moment.
   */
  async #remembered(call: ResourceCall, body?: Buffer): Promise<void> {
    const answer = await this.#options.forwarding.readJson(call, body);
    if (answer.status < 300)
      await this.#options.views.rememberObject('node', resourceOf(call.info), jsonOf(answer));
    passWhole(call, answer);
  }

  async #write(call: ResourceCall, body: Buffer): Promise<void> {
    const { journal, views, chainFor } = this.#options;
    const { info, url, exchange } = call;
    const resource = resourceOf(info);
    const known =
      info.name === '' ? undefined : await views.covering('node', resource, namespaceOf(info), info.name);
    const base = known?.result === 'found' ? objectOf(known.item) : undefined;
    const contentType = exchange.request.headers['content-type'] ?? '';
    const request = { info, query: url.searchParams, contentType, body };
    const object = await journal.write(request, base);
    await views.overlay('node', resource, object);
    const shown = chainFor(call).apply(object) ?? object;
    await answerObject(
      exchange,
      itemOf(shown, resource),
      { format: 'json' },
      info.verb === 'create' ? 201 : 200,
    );
  }

  /** Kubelets ask for the tokens of their pods. A token that was issued once is handed out again while nobody can issue one. */
  async #tokenRequest(call: ResourceCall): Promise<void> {
    const { tokens, forwarding, link } = this.#options;
    const { info, exchange } = call;
    const body = await readBody(call, MOST_READ);
    const request = decodeBody(exchange.request.headers['content-type'] ?? '', body);
    if (link.online) {
      try {
        const answer = await forwarding.readJson(call, body);
        if (answer.status < 300) tokens.remember(info, request, jsonOf(answer));
        return passWhole(call, answer);
      } catch (error) {
        if (!(error instanceof UpstreamUnavailable)) throw error;
      }
    }
    const again = await tokens.again(info, request);
    if (again === undefined)
      throw unavailable(
        `the API server can not be reached, and no token of service account ${info.namespace}/${info.name} was issued for this before`,
      );
    await exchange.object(201, again);
  }

  /** A kubelet that starts again tries to make its Node, and goes on when it hears that it is there. */
  async #registerOffline(call: ResourceCall, nodeName: string): Promise<void> {
    const known = await this.#options.views.covering('node', NODES, '', nodeName);
    if (known.result === 'found') throw alreadyExists(call.info, nodeName);
    throw awayFor(call);
  }

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

  async #sharedWrite(call: ResourceCall, answer: Awaited<ReturnType<Forwarding['send']>>): Promise<void> {
    const { recentWrites } = this.#options;
    const resource = resourceOf(call.info);
    const plain =
      /^application\/json/.test(`${answer.headers['content-type']}`) &&
      answer.headers['content-encoding'] === undefined;
    if (!plain) {
      recentWrites.wrote(resource, undefined);
      return passBack(call, answer);
    }
    const whole = { ...answer, body: await readAll(answer.body) };
    recentWrites.wrote(resource, jsonOf(whole).metadata?.resourceVersion);
    passWhole(call, whole);
  }
}

const isNodes = ({ info: { group, resource, subresource } }: ResourceCall): boolean =>
  group === '' && resource === 'nodes' && subresource === '';

const isLease = ({ info: { group, resource } }: ResourceCall): boolean =>
  group === 'coordination.k8s.io' && resource === 'leases';

const isTokenRequest = ({ info: { group, resource, subresource, verb } }: ResourceCall): boolean =>
  group === '' && resource === 'serviceaccounts' && subresource === 'token' && verb === 'create';

const awayFor = ({ info: { verb, resource, subresource } }: ResourceCall) =>
  unavailable(
    `the API server can not be reached, and only it can ${verb} ${resource}${subresource === '' ? '' : `/${subresource}`}; nothing was changed`,
  );
