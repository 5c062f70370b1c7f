import type { Clock, KubeClient, KubeObject, Resource } from '@tidegate/kube';
import type { UserInfo } from './review.ts';

/** One thing that somebody wants to do. Without a namespace: in the whole cluster. */
export interface Action {
  verb: string;
  group: string;
  resource: string;
  namespace?: string;
  name?: string;
}

/** Whether a user may do it. Rejects when the API server can not say. */
export type Access = (user: UserInfo, action: Action) => Promise<boolean>;

const REVIEWS: Resource = {
  group: 'authorization.k8s.io',
  version: 'v1',
  resource: 'subjectaccessreviews',
  namespaced: false,
};

/** So that a loop of updates is cheap, and a right that is taken away does not last. */
const REMEMBERED_MS = 5_000;
const MOST_REMEMBERED = 1_000;
/** The API server that asked us waits for five seconds. */
const DEADLINE_MS = 3_000;

/**
 * Asks the API server, and remembers for a moment what it allowed. What it did not allow is asked again: whoever was
 * refused gets the right and tries again at once.
 */
export function accessReviews(client: KubeClient, clock: Clock): Access {
  const allowedUntil = new Map<string, number>();
  return async (user, action) => {
    const key = JSON.stringify([user.username, user.uid, user.groups, user.extra, action]);
    if ((allowedUntil.get(key) ?? 0) > clock.monotonic()) return true;
    const allowed = await review(client, user, action);
    allowedUntil.delete(key);
    if (!allowed) return false;
    allowedUntil.set(key, clock.monotonic() + REMEMBERED_MS);
    const [oldest] = allowedUntil.keys();
    if (allowedUntil.size > MOST_REMEMBERED && oldest !== undefined) allowedUntil.delete(oldest);
    return true;
  };
}

async function review(client: KubeClient, user: UserInfo, resourceAttributes: Action): Promise<boolean> {
  const { username, uid, groups, extra } = user;
  const question: KubeObject = {
    apiVersion: 'authorization.k8s.io/v1',
    kind: 'SubjectAccessReview',
    metadata: {},
    spec: { user: username, uid, groups, extra, resourceAttributes },
  };
  const { status } = await client.create(REVIEWS, question, { deadlineMs: DEADLINE_MS });
  return (status as { allowed?: boolean } | undefined)?.allowed === true;
}
