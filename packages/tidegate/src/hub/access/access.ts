import {
  ApiStatusError,
  type Clock,
  isNotFound,
  isUnauthorized,
  type KubeClient,
  type Logger,
  orAborted,
} from '@tidegate/kube';
import { ApiError, forbidden, unauthorized } from '@tidegate/serving';
import {
  type AnonymousIdentity,
  type BearerIdentity,
  type Identity,
  type Memory,
  usernameOf,
} from '../identity/index.ts';
import type { Holder } from '../shares/index.ts';
import { type Decision, Decisions, decisionKey, type ResourceAttributes } from './decisions.ts';

export interface AccessOptions {
  /**
   * A client without credentials of its own, because each review is sent with the token of the caller. With a
   * client certificate on the connection, the API server would ignore the token.
   */
  client: KubeClient;
  memory: Memory;
  tokens: {
    /** Called when the API server has answered a review with 401. */
    suspect(identity: BearerIdentity): Promise<void>;
    /** The tenant of an identity, by its key. */
    holderOf(identityKey: string): Holder;
  };
  /** Whether an API server is reachable. */
  online: () => boolean;
  clock: Clock;
  log: Logger;
}

/**
 * While an API server is reachable, the hub asks again about an allowed read after this time. It asks about a
 * denied read every time, so that a new RoleBinding takes effect at once.
 */
const RECHECK_ALLOWED_MS = 300_000;
const DEADLINE_MS = 10_000;
const RETRY_AFTER_SECONDS = 5;

/**
 * Decides whether a client may read what the hub already has in a shared view. The API server makes the
 * decision: the hub sends a SelfSubjectAccessReview with the token of the client. The decision is stored, and
 * stays valid for as long as no API server is reachable.
 */
export class Access {
  readonly #options: AccessOptions;
  readonly #decisions: Decisions;
  /** Reviews in progress, by token and question. */
  readonly #asking = new Map<string, Promise<Decision>>();

  private constructor(options: AccessOptions, decisions: Decisions) {
    this.#options = options;
    this.#decisions = decisions;
  }

  static async open(options: AccessOptions): Promise<Access> {
    return new Access(options, await Decisions.open(options.memory, (key) => options.tokens.holderOf(key)));
  }

  /**
   * Resolves if the identity may do this. Otherwise it throws what the API server would answer: 403 if access
   * is denied, and 401 if the API server no longer accepts the token. It throws 503 if the API server is
   * unreachable and no decision is stored. The node itself needs no check, because the hub reads shared views
   * with the credentials of the node.
   */
  async check(
    identity: Exclude<Identity, AnonymousIdentity>,
    attributes: ResourceAttributes,
    signal: AbortSignal,
  ): Promise<void> {
    if (identity.kind === 'node') return;
    const decision = await orAborted(this.#decide(identity, attributes), signal);
    if (!decision.allowed) throw refusal(attributes, decision);
  }

  /**
   * Deletes what allows this read, and everything that could come from the same role. Call this when the API server has
   * answered the request itself with 403.
   */
  withdraw(identityKey: string, attributes: ResourceAttributes): void {
    this.#decisions.withdraw(identityKey, attributes);
  }

  /** Deletes all decisions for an identity that has ended. */
  forget(identityKey: string): void {
    this.#decisions.forget(identityKey);
  }

  /**
   * Uses an allowed decision that is fresh, otherwise a new review by the API server. If the API server is
   * unreachable or fails, an older decision for this question applies, or one that includes this read. A 4xx
   * response is an answer of the API server, so no stored decision overrides it, unless the API server is only busy.
   */
  async #decide(identity: BearerIdentity, attributes: ResourceAttributes): Promise<Decision> {
    const { online, clock } = this.#options;
    const known = this.#decisions.get(identity.key, attributes);
    const fresh =
      known?.allowed === true && clock.monotonic() - (known.askedAt ?? -Infinity) < RECHECK_ALLOWED_MS;
    if (known !== undefined && fresh) return known;
    const fallback = known ?? this.#decisions.wider(identity.key, attributes);
    if (!online()) {
      if (fallback !== undefined) return fallback;
      throw unknown(attributes, 'the API server is unreachable');
    }
    try {
      return await this.#ask(identity, attributes);
    } catch (error) {
      if (isUnauthorized(error)) {
        await this.#options.tokens.suspect(identity);
        throw unauthorized();
      }
      if (fallback !== undefined && !isFinal(error)) return fallback;
      this.#options.log.warn({ err: error, identity: identity.key }, 'access review failed');
      throw unknown(attributes, (error as Error).message);
    }
  }

  /**
   * Concurrent calls with the same question share one review. The token is part of the question, because the
   * API server may accept one token of a service account and reject another.
   */
  #ask(identity: BearerIdentity, attributes: ResourceAttributes): Promise<Decision> {
    const key = JSON.stringify([identity.token, decisionKey(identity.key, attributes)]);
    const asking = this.#asking.get(key) ?? this.#review(identity, attributes);
    this.#asking.set(key, asking);
    const done = (): boolean => this.#asking.delete(key);
    asking.then(done, done);
    return asking;
  }

  async #review(identity: BearerIdentity, attributes: ResourceAttributes): Promise<Decision> {
    const { clock } = this.#options;
    const { verb, group, version, resource, namespace, name } = attributes;
    const { allowed, reason } = await this.#post<{ allowed?: boolean; reason?: string }>(
      identity,
      'authorization.k8s.io/v1',
      'SelfSubjectAccessReview',
      { resourceAttributes: { verb, group, version, resource, namespace, name } },
    );
    const decision: Decision =
      allowed === true
        ? { allowed, askedAt: clock.monotonic() }
        : { allowed: false, username: await this.#usernameOf(identity), reason };
    this.#decisions.put(identity.key, attributes, decision);
    return decision;
  }

  /** The username for the message of a 403. The hub does not know it for tokens that it cannot decode. */
  async #usernameOf(identity: BearerIdentity): Promise<string> {
    const username = usernameOf(identity.key);
    if (username !== undefined) return username;
    const review = this.#post<{ userInfo?: { username?: string } }>(
      identity,
      'authentication.k8s.io/v1',
      'SelfSubjectReview',
    );
    // SelfSubjectReview is stable since Kubernetes 1.28. Older servers return 404.
    const { userInfo } = await review.catch((error: unknown) => {
      if (isNotFound(error)) return { userInfo: undefined };
      throw error;
    });
    return userInfo?.username ?? '';
  }

  async #post<S>(identity: BearerIdentity, apiVersion: string, kind: string, spec?: object): Promise<S> {
    const answer = await this.#options.client.raw(
      {
        method: 'POST',
        path: `/apis/${apiVersion}/${kind.toLowerCase()}s`,
        headers: { 'content-type': 'application/json', authorization: `Bearer ${identity.token}` },
        body: JSON.stringify({ apiVersion, kind, metadata: {}, spec }),
      },
      { deadlineMs: DEADLINE_MS },
    );
    return ((answer as { status?: S } | null)?.status ?? {}) as S;
  }
}

/** Whether the API server has decided that it does not answer the review. 408 and 429 only mean that it is busy. */
const isFinal = (error: unknown): boolean =>
  error instanceof ApiStatusError && error.code < 500 && ![408, 429].includes(error.code);

/** Repeats the message of the RBAC authorizer of the API server. */
function refusal(attributes: ResourceAttributes, { username = '', reason = '' }: Decision): ApiError {
  const { verb, group, resource, namespace, name } = attributes;
  const where = namespace === '' ? 'at the cluster scope' : `in the namespace ${JSON.stringify(namespace)}`;
  const why =
    `User ${JSON.stringify(username)} cannot ${verb} resource ${JSON.stringify(resource)} ` +
    `in API group ${JSON.stringify(group)} ${where}${reason === '' ? '' : `: ${reason}`}`;
  return forbidden({ group, resource }, name, why);
}

const unknown = ({ verb, resource }: ResourceAttributes, why: string): ApiError =>
  new ApiError(
    503,
    'ServiceUnavailable',
    `this node does not know whether you may ${verb} ${resource}, and the access review failed: ${why}`,
    { retryAfterSeconds: RETRY_AFTER_SECONDS },
  );
