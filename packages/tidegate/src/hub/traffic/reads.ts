import { ApiStatusError, type Link } from '@tidegate/kube';
import { badRequest } from '@tidegate/serving';
import type { Chain } from '../filters/filter.ts';
import { UpstreamUnavailable } from '../upstream/index.ts';
import type { ResourceCall } from './call.ts';
import { formFor, type HubForm } from './form.ts';
import type { Forwarding } from './forwarding.ts';
import type { PrivateReads } from './private-reads.ts';
import type { SharedReads } from './shared-reads.ts';

export interface ReadsOptions {
  shared: SharedReads;
  private: PrivateReads;
  forwarding: Forwarding;
  chainFor(call: ResourceCall): Chain;
  link: Link;
}

/** Gets, lists and watches of objects: decides where they are answered from. */
export class Reads {
  readonly #options: ReadsOptions;

  constructor(options: ReadsOptions) {
    this.#options = options;
  }

  async serve(call: ResourceCall): Promise<void> {
    const { shared, forwarding, chainFor, link } = this.#options;
    const { identity, exchange } = call;
    if (call.info.resource === 'watch')
      throw badRequest('paths that begin with watch are not served here; ask for the list with ?watch=true');
    const unfiltered = chainFor(call).filters.length === 0;
    // Who is nobody in particular is not worth a view, unless something has to be kept from it.
    if (identity.kind === 'anonymous' && unfiltered) return forwarding.pass(call);
    const form = formFor(exchange.request.headers.accept, unfiltered && link.online);
    if (form.by === 'server') return forwarding.pass(call);
    if (shared.takes(call)) {
      try {
        if (await shared.serve(call, form, 'newest')) return;
        return await this.#askForNewest(call, form);
      } catch (error) {
        if (!isNodesLack(error) || exchange.response.headersSent) throw error;
      }
    }
    await this.#options.private.serve(call, form.representation);
  }

  /** What the shared view can not know yet. When the link breaks meanwhile, what it knows is all there is. */
  async #askForNewest(call: ResourceCall, form: HubForm): Promise<void> {
    try {
      await this.#options.private.ask(call, form.representation);
    } catch (error) {
      if (!(error instanceof UpstreamUnavailable) || call.exchange.response.headersSent) throw error;
      await this.#options.shared.serve(call, form, 'at hand');
    }
  }
}

/** The node itself may not read what it would share; the client may well be allowed to. */
const isNodesLack = (error: unknown): boolean => error instanceof ApiStatusError && error.code === 403;
