import { ApiStatusError, type Clock, type KubeClient, type Logger } from '@tidegate/kube';
import { ApiError, unauthorized } from '@tidegate/serving';
import { FairMap, type ShareLimits, tenantOfUser } from '../shares/index.ts';
import type { BearerIdentity } from './identity.ts';
import { ReviewTurns } from './review-turns.ts';
import { type ServiceAccountClaims, usernameOf } from './service-account-token.ts';
import type { TokenMemory } from './token-memory.ts';
import { reviewToken, type TokenReview } from './token-review.ts';

export interface ProofsOptions {
  /** A client with the credentials of the node. */
  client: KubeClient;
  tokens: TokenMemory;
  /** Receives the audiences of the API server that a review has shown. */
  onAudiences: (audiences: readonly string[]) => void;
  /** Called when the API server has rejected the only token of an identity. What was stored for it must be deleted. */
  onEnded: (identityKey: string) => void;
  /** Whether the pod that a token is bound to has left the node, as far as the hub knows. */
  podIsGone: (claims: ServiceAccountClaims) => Promise<boolean>;
  /** The tenant of a known identity, by its key. */
  tenantOf: (identityKey: string) => string;
  /** Whether an API server is reachable. */
  online: () => boolean;
  clock: Clock;
  log: Logger;
}

/**
 * While an API server is reachable, a token that it accepted is accepted for this long without asking again. The API
 * server itself caches its decisions for ten seconds.
 */
const RECHECK_MS = 60_000;
const PROVED: ShareLimits = { perIdentity: 500, total: 10_000 };

/**
 * Decides whether the API server currently accepts the token of a client. Nothing that the hub has stored is served
 * to a client without this proof.
 *
 * - Online, the API server has authenticated the token in a TokenReview not longer than a minute ago.
 * - While it cannot answer, the last TokenReview counts. A service account token that was never reviewed counts if the
 *   hub has verified it (signature, issuer, audience and time) and its pod has not been deleted: a pod can start
 *   offline with a token that was issued earlier.
 *
 * A request costs one lookup. Concurrent requests with the same token share one review.
 */
export class Proofs {
  readonly #options: ProofsOptions;
  /** Monotonic time of the last successful review, by token key. */
  readonly #provedAt = new FairMap<number>(PROVED);
  readonly #asking = new Map<string, Promise<TokenReview>>();
  /** Invented tokens never delay the reviews of others, and the clients of each peer delay themselves only. */
  readonly #ofKnown = new ReviewTurns({ running: 32, runningPerHolder: 8, waitingPerHolder: 500 });
  readonly #ofUnknown = new ReviewTurns({ running: 8, runningPerHolder: 4, waitingPerHolder: 50 });

  constructor(options: ProofsOptions) {
    this.#options = options;
  }

  /** Resolves if the token is accepted. Throws 401 if it is not, and 503 if the hub cannot know. */
  async require(identity: BearerIdentity): Promise<void> {
    const { clock, online } = this.#options;
    const provedAt = this.#provedAt.get(identity.tokenKey) ?? Number.NEGATIVE_INFINITY;
    if (clock.monotonic() - provedAt < RECHECK_MS) return;
    if (!online()) return this.requireKnown(identity);
    let review: TokenReview;
    try {
      review = await this.review(identity);
    } catch (error) {
      // The hub itself has refused it: this client has too many tokens.
      if (error instanceof ApiError) throw error;
      return this.#withoutAnswer(identity, error);
    }
    if (!review.authenticated) throw unauthorized();
  }

  /** The rule while no API server can answer. Throws 401 if the token is not known to be valid. */
  async requireKnown({ key, tokenKey, claims }: BearerIdentity): Promise<void> {
    const { tokens, podIsGone } = this.#options;
    const decision = tokens.decisionOn(tokenKey);
    if (claims === undefined) {
      if (decision !== 'accepted') throw unauthorized();
      return;
    }
    if (decision === 'rejected' || tokens.isBelowFloor(usernameOf(key) ?? '', claims.expires))
      throw unauthorized();
    if (await podIsGone(claims)) throw unauthorized();
  }

  /**
   * Call this when the API server, or a server behind it, has answered 401. Asks the API server, unless the hub would not
   * accept the token anyway: a client can invent any number of tokens, and each of them would cause a review.
   */
  async suspect(identity: BearerIdentity): Promise<void> {
    const { tokens, log } = this.#options;
    const decision = tokens.decisionOn(identity.tokenKey);
    if (decision === 'rejected' || (decision === undefined && identity.claims === undefined)) return;
    this.#provedAt.delete(identity.tokenKey);
    try {
      await this.review(identity);
    } catch (err) {
      log.warn({ err, identity: identity.key }, 'cannot review a token that was answered with 401');
    }
  }

  /** Whether the hub has verified the token, or the API server has accepted it before. */
  isKnown({ claims, tokenKey }: BearerIdentity): boolean {
    return claims !== undefined || this.#options.tokens.decisionOn(tokenKey) === 'accepted';
  }

  /** Asks the API server now, and remembers the answer. Rejects if there is none. */
  review(identity: BearerIdentity): Promise<TokenReview> {
    const { tokenKey } = identity;
    const asking = this.#asking.get(tokenKey) ?? this.#review(identity);
    this.#asking.set(tokenKey, asking);
    const done = (): boolean => this.#asking.delete(tokenKey);
    asking.then(done, done);
    return asking;
  }

  async #review(identity: BearerIdentity): Promise<TokenReview> {
    const { client, onAudiences } = this.#options;
    const isKnown = this.isKnown(identity);
    const turns = isKnown ? this.#ofKnown : this.#ofUnknown;
    const holder = isKnown ? this.#options.tenantOf(identity.key) : await identity.peer();
    const review = await turns.run(holder, () => reviewToken(client, identity.token));
    if (review.authenticated) onAudiences(review.audiences);
    const accepted = review.authenticated && this.#isSame(identity, review);
    if (accepted) this.#accepted(identity, review.username);
    else this.#rejected(identity);
    return accepted ? review : { authenticated: false };
  }

  #accepted({ tokenKey, claims }: BearerIdentity, username: string): void {
    const { tokens, clock } = this.#options;
    // Offline, a token that the hub can verify needs no acceptance, only the absence of a rejection.
    if (claims === undefined) tokens.accept(tokenKey, username);
    else tokens.forget(tokenKey);
    const holder = { identity: username, tenant: tenantOfUser(username) };
    this.#provedAt.set(tokenKey, clock.monotonic(), holder);
  }

  /** Other tokens of a service account are not affected. An identity that is the hash of a token ends with the token. */
  #rejected({ tokenKey, key, claims }: BearerIdentity): void {
    const { tokens, onEnded } = this.#options;
    this.#provedAt.delete(tokenKey);
    // Only tokens that the hub might accept are remembered. A client can invent any number of others.
    if (claims !== undefined) tokens.reject(tokenKey, usernameOf(key) ?? '', claims.expires);
    else if (tokens.decisionOn(tokenKey) === 'accepted') {
      tokens.forget(tokenKey);
      onEnded(key);
    }
  }

  /** Whether the API server sees the same account in the token as the hub does. */
  #isSame({ claims, key }: BearerIdentity, review: TokenReview & { authenticated: true }): boolean {
    if (claims === undefined) return true;
    const same =
      review.username === `system:serviceaccount:${claims.namespace}:${claims.name}` &&
      (review.uid === '' || review.uid === claims.uid);
    if (!same)
      this.#options.log.error(
        { identity: key, username: review.username },
        'the API server authenticates a token as another user than its claims name; the hub does not accept it',
      );
    return same;
  }

  /** A failed review counts like an unreachable API server, unless the API server will never answer it. */
  async #withoutAnswer(identity: BearerIdentity, error: unknown): Promise<void> {
    if (!(error instanceof ApiStatusError) || error.code >= 500 || [408, 429].includes(error.code))
      return this.requireKnown(identity);
    const why = `the API server refuses TokenReviews of the node (${error.message}); allow the node to create them, as the role system:node does`;
    this.#options.log.warn({ err: error }, why);
    throw new ApiError(
      503,
      'ServiceUnavailable',
      `the hub cannot verify your token: ${why}`,
      undefined,
      error,
    );
  }
}
