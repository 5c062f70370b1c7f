import { badRequest } from '@tidegate/serving';
import type { DiscoveryCache } from '../discovery/index.ts';
import { type Upstream, unavailable } from '../upstream/index.ts';
import { type Call, type ChainFor, impersonates, type ResourceCall } from './call.ts';
import type { Forwarding } from './forwarding.ts';
import type { Reads } from './reads.ts';
import type { Writes } from './writes.ts';

export interface DispatcherOptions {
  reads: Reads;
  writes: Writes;
  discovery: DiscoveryCache;
  forwarding: Forwarding;
  chainFor: ChainFor;
  upstream: Pick<Upstream, 'online'>;
}

const READ_VERBS = new Set(['get', 'list', 'watch']);

/** Passes an authenticated request to the part of the hub that answers it. */
export class RequestDispatcher {
  readonly #options: DispatcherOptions;

  constructor(options: DispatcherOptions) {
    this.#options = options;
  }

  async dispatch(call: Call): Promise<void> {
    const { reads, writes, discovery, forwarding } = this.#options;
    if (impersonates(call.exchange.request.headers)) return this.#impersonated(call);
    if (call.info.type === 'path') {
      if (!(await discovery.serve(call))) await forwarding.pass(call);
      return;
    }
    const resourceCall = call as ResourceCall;
    if (!READ_VERBS.has(call.info.verb)) return writes.serve(resourceCall);
    // Logs and proxy responses are not objects. A status subresource is one, but it cannot be watched on its own.
    if (call.info.subresource !== '') return forwarding.pass(call);
    await reads.serve(resourceCall);
  }

  /** An impersonated response belongs to another identity, so it is never stored and never served from a view. */
  async #impersonated(call: Call): Promise<void> {
    const { forwarding, upstream, chainFor } = this.#options;
    if (!upstream.online)
      throw unavailable('the API server is unreachable, and only it can authorize impersonation');
    if (call.info.type === 'resource' && chainFor(call as ResourceCall).filters.length > 0)
      throw badRequest(
        `the hub filters ${call.info.resource} for ${call.component} and cannot do so for an impersonated user; send the request without Impersonate headers, or directly to the API server`,
      );
    return forwarding.pass(call);
  }
}
