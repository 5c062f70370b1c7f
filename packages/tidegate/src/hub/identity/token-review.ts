import type { KubeClient, KubeObject, Resource } from '@tidegate/kube';

/** The answer of the API server to a TokenReview. */
export type TokenReview =
  | { authenticated: false }
  | {
      authenticated: true;
      username: string;
      uid: string;
      /** The audiences of the token that are audiences of the API server. */
      audiences: readonly string[];
    };

interface ReviewedToken extends KubeObject {
  status?: {
    authenticated?: boolean;
    user?: { username?: string; uid?: string };
    audiences?: string[];
  };
}

const TOKEN_REVIEWS: Resource<ReviewedToken> = {
  group: 'authentication.k8s.io',
  version: 'v1',
  resource: 'tokenreviews',
  namespaced: false,
};
const DEADLINE_MS = 10_000;

/**
 * Asks the API server whether it authenticates this token, with the credentials of the node: every node may create
 * TokenReviews, because kubelets authenticate their clients in the same way.
 *
 * This is the only proof of an identity. A response to a request of the client itself proves nothing: the client chooses
 * the request, and API servers answer some requests before they authenticate (400 for a malformed timeout, 431, a CORS
 * preflight), while a 401 may come from a server behind a proxy path. Rejects if the API server gives no answer.
 */
export async function reviewToken(client: KubeClient, token: string): Promise<TokenReview> {
  const { kind, status } = await client.create<ReviewedToken>(
    TOKEN_REVIEWS,
    { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenReview', metadata: {}, spec: { token } },
    { deadlineMs: DEADLINE_MS },
  );
  if (kind !== 'TokenReview' || status === undefined)
    throw new Error('the API server did not answer a TokenReview with a TokenReview');
  const { authenticated, user, audiences = [] } = status;
  if (authenticated !== true || typeof user?.username !== 'string' || user.username === '')
    return { authenticated: false };
  return { authenticated, username: user.username, uid: user.uid ?? '', audiences };
}
