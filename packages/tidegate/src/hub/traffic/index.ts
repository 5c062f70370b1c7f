/**
 * What becomes of a request once it is known who asks: read from a view, passed on, or kept for later.
 *
 *   handler.ts -> reads.ts -> shared-reads.ts (one watch for the whole node) or private-reads.ts (what one identity sees)
 *              -> writes.ts (to the API server; the node's own into the journal while that is away)
 *              -> forwarding.ts (everything else, untouched)
 */
import type { Clock, Logger, Metrics } from '@tidegate/kube';
import type { ContextViews } from '../context-views.ts';
import type { DiscoveryCache } from '../discovery/index.ts';
import type { Filters } from '../filters/index.ts';
import type { Access } from '../identity/access.ts';
import type { Authenticator } from '../identity/authenticator.ts';
import type { Journal } from '../journal/index.ts';
import type { IssuedTokens } from '../tokens/index.ts';
import type { Upstream } from '../upstream/index.ts';
import type { Projections } from '../views/projection/index.ts';
import type { Views } from '../views/views.ts';
import type { ResourceCall } from './call.ts';
import { Forwarding } from './forwarding.ts';
import { Handler } from './handler.ts';
import { PrivateReads } from './private-reads.ts';
import { Reads } from './reads.ts';
import { RecentWrites } from './recent-writes.ts';
import { SharedReads } from './shared-reads.ts';
import { Writes } from './writes.ts';

export { decodeBody } from './decode-body.ts';
export type { Handler } from './handler.ts';

export interface TrafficOptions {
  nodeName: string;
  upstream: Upstream;
  views: Views;
  contextViews: ContextViews;
  filters: Filters;
  projections: Projections;
  authenticator: Authenticator;
  access: Access;
  discovery: DiscoveryCache;
  journal: Journal;
  tokens: IssuedTokens;
  /** Something waits in the journal although the link is there. */
  replaySoon(): void;
  metrics: Metrics;
  clock: Clock;
  log: Logger;
  /** Aborted when the hub stops. */
  signal: AbortSignal;
}

export function openTraffic(options: TrafficOptions): Handler {
  const { upstream, filters, clock, authenticator, access } = options;
  const chainFor = ({ component, info }: ResourceCall) => filters.chainFor(component, info, info.verb);
  const recentWrites = new RecentWrites(clock);
  const forwarding = new Forwarding(upstream, {
    accepted: ({ token }) => authenticator.accepted(token),
    rejected: ({ token, key }) => {
      authenticator.rejected(token);
      access.forget(key);
    },
  });
  const shared = { ...options, recentWrites, forwarding, chainFor, link: upstream };
  const reads = new Reads({
    ...shared,
    shared: new SharedReads(shared),
    private: new PrivateReads(shared),
  });
  return new Handler({ ...shared, reads, writes: new Writes(shared) });
}
