import type { Clock, KubeClient, KubeObject, Resource } from '@tidegate/kube';
import type { UserInfo } from './review.ts';

/** What a user wants to do. Without a namespace, in the whole cluster. */
export interface AccessRequest {
  verb: string;
  group: string;
  resource: string;
  namespace?: string;
  name?: string;
}

/** Resolves to whether the user is allowed to do it. Rejects if the API server cannot be asked. */
export type Access = (user: UserInfo, action: AccessRequest) => Promise<boolean>;

const REVIEWS: Resource = {
  group: 'authorization.k8s.io',
  version: 'v1',
  resource: 'subjectaccessreviews',
  namespaced: false,
};

/** Long enough to make a loop of updates cheap, short enough that a revoked permission stops working soon. */
const CACHE_TTL_MS = 5_000;
const MAX_CACHED = 1_000;
/** Less than the webhook timeout of five seconds, so that the user gets our message and not a timeout. */
const DEADLINE_MS = 4_000;

/**
 * Sends a SubjectAccessReview and caches positive results for a moment. Denials are not cached, because a user typically
 * gets the permission after a denial and tries again immediately.
 */
export function accessReviews(client: KubeClient, clock: Clock): Access {
  const allowedUntil = new Map<string, number>();
  return async (user, request) => {
    const key = JSON.stringify([user.username, user.uid, user.groups, user.extra, request]);
    if ((allowedUntil.get(key) ?? 0) > clock.monotonic()) return true;
    const allowed = await review(client, user, request);
    allowedUntil.delete(key);
    if (!allowed) return false;
    allowedUntil.set(key, clock.monotonic() + CACHE_TTL_MS);
    const [oldest] = allowedUntil.keys();
    if (allowedUntil.size > MAX_CACHED && oldest !== undefined) allowedUntil.delete(oldest);
    return true;
  };
}

async function review(
  client: KubeClient,
  user: UserInfo,
  resourceAttributes: AccessRequest,
): Promise<boolean> {
  const { username, uid, groups, extra } = user;
  const accessReview: KubeObject = {
    apiVersion: 'authorization.k8s.io/v1',
    kind: 'SubjectAccessReview',
    metadata: {},
    spec: { user: username, uid, groups, extra, resourceAttributes },
  };
  const { status } = await client.create(REVIEWS, accessReview, { deadlineMs: DEADLINE_MS });
  return (status as { allowed?: boolean } | undefined)?.allowed === true;
}
