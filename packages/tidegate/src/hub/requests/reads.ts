import { ApiStatusError } from '@tidegate/kube';
import type { Representation } from '@tidegate/serving';
import type { Identity } from '../identity/index.ts';
import { type Upstream, UpstreamUnavailable } from '../upstream/index.ts';
import { TooManyWatchesError } from '../views/index.ts';
import type { ChainFor, ResourceCall } from './call.ts';
import type { Forwarding } from './forwarding.ts';
import type { PrivateReads } from './private-reads.ts';
import { representationFor } from './representation.ts';
import type { SharedReads } from './shared-reads.ts';

export interface ReadsOptions {
  sharedReads: SharedReads;
  privateReads: PrivateReads;
  forwarding: Forwarding;
  chainFor: ChainFor;
  upstream: Pick<Upstream, 'online'>;
  /** See `Authenticator.prove`. */
  prove(identity: Identity, signal: AbortSignal): Promise<void>;
}

/**
 * Gets, lists and watches of objects. Decides where the answer comes from: the shared view of the resource, a private
 * view of the caller, or the API server.
 */
export class Reads {
  readonly #options: ReadsOptions;

  constructor(options: ReadsOptions) {
    this.#options = options;
  }

  async serve(call: ResourceCall): Promise<void> {
    const { sharedReads, privateReads, forwarding, chainFor, upstream, prove } = this.#options;
    const { identity, exchange } = call;
    const unfiltered = chainFor(call).filters.length === 0;
    // Views belong to identities. An anonymous request gets one only if its response must be filtered.
    if (identity.kind === 'anonymous' && unfiltered) return forwarding.pass(call);
    const representation = representationFor(exchange.request.headers.accept, unfiltered && upstream.online);
    if (representation === 'forward') return forwarding.pass(call);
    // From here on, the answer may come from what the hub has stored.
    await prove(identity, call.signal);
    if (sharedReads.takes(call)) {
      try {
        if (await sharedReads.serve(call, representation, 'newest')) return;
        return await this.#askForNewest(call, representation);
      } catch (error) {
        if (error instanceof TooManyWatchesError && unfiltered && upstream.online)
          return forwarding.pass(call);
        if (!isForbiddenToNode(error) || exchange.response.headersSent) throw error;
      }
    }
    await privateReads.serve(call, representation);
  }

  /**
   * Asks the API server for a state that the shared view cannot have yet. If the API server becomes
   * unreachable in the meantime, the client gets the state of the view.
   */
  async #askForNewest(call: ResourceCall, representation: Representation): Promise<void> {
    const { sharedReads, privateReads } = this.#options;
    try {
      await privateReads.ask(call, representation);
    } catch (error) {
      if (!(error instanceof UpstreamUnavailable) || call.exchange.response.headersSent) throw error;
      await sharedReads.serve(call, representation, 'available');
    }
  }
}

/**
 * Shared views are read with the node's credentials. If the node is not allowed to read the resource, the caller may
 * still be, so the request continues as a private read.
 */
const isForbiddenToNode = (error: unknown): boolean => error instanceof ApiStatusError && error.code === 403;
