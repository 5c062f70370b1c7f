import { ApiStatusError } from '../../kube/index.ts';
import type { Link } from '../../kube/informer/link.ts';
import { isWatch } from '../../kube/serving/request-info.ts';
import type { Chain } from '../filters/filter.ts';
import type { ResourceCall } from './call.ts';
import { formFor } from './form.ts';
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
    const unfiltered = chainFor(call).filters.length === 0;
    // Who is nobody in particular is not worth a view; filters are for programs that have an identity.
    if (identity.kind === 'anonymous' || isUnusual(call)) return forwarding.pass(call);
    const form = formFor(exchange.request.headers.accept, unfiltered && link.online);
    if (form.by === 'server') return forwarding.pass(call);
    if (shared.takes(call)) {
      try {
        if (await shared.serve(call, form)) return;
      } catch (error) {
        if (!isNodesLack(error) || exchange.response.headersSent) throw error;
      }
    }
    await this.#options.private.serve(call, form.representation);
  }
}

/** Old ways to watch, by the path or by name, that nobody uses any more but that stream all the same. */
const isUnusual = ({ info, url }: ResourceCall): boolean =>
  info.resource === 'watch' || (info.verb === 'get' && isWatch(url.searchParams));

/** The node itself may not read what it would share; the client may well be allowed to. */
const isNodesLack = (error: unknown): boolean => error instanceof ApiStatusError && error.code === 403;
