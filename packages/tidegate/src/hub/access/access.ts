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
import { type Decision, Decisions, decisionKey, type ResourceAttributes } from './decisions.ts';

export interface AccessOptions {
  /** Without credentials of its own: callers are asked about under theirs, and a certificate would count before a token. */
  client: KubeClient;
  memory: Memory;
  /** Notified which tokens the API server accepts. */
  tokens: { accepted(token: string): Promise<void>; rejected(token: string): Promise<void> };
  online: () => boolean;
  clock: Clock;
  log: Logger;
}

/** While the link is there, what was allowed is asked again after this long; what was not allowed, every time. */
const ASKED_AGAIN_MS = 300_000;
const DEADLINE_MS = 10_000;
const RETRY_AFTER_SECONDS = 5;

/**
 * Whether callers may read what the hub already has. The API server decides, asked under the caller's own credentials;
 * what it said holds for as long as it is away.
 */
export class Access {
  readonly #options: AccessOptions;
  readonly #decisions: Decisions;
  readonly #asking = new Map<string, Promise<Decision>>();

  private constructor(options: AccessOptions, decisions: Decisions) {
    this.#options = options;
    this.#decisions = decisions;
  }

  static async open(options: AccessOptions): Promise<Access> {
    return new Access(options, await Decisions.open(options.memory));
  }

  /**
   * Throws the API server's 403 when it does not allow it, its 401 when the token is not good any more, and 503 when it
   * can not be asked and never was. The node's own requests are made with the node's credentials: nothing to ask.
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

  /** For an identity whose token the API server refused, or whose views it took away. */
  forget(identityKey: string): void {
    this.#decisions.forget(identityKey);
  }

  async #decide(identity: BearerIdentity, attributes: ResourceAttributes): Promise<Decision> {
    const { online, clock } = this.#options;
    const known = this.#decisions.get(identity.key, attributes);
    const fresh =
      known?.allowed === true && clock.monotonic() - (known.askedAt ?? -Infinity) < ASKED_AGAIN_MS;
    if (known !== undefined && fresh) return known;
    const otherwise = known ?? this.#decisions.wider(identity.key, attributes);
    if (!online()) {
      if (otherwise !== undefined) return otherwise;
      throw unknown(attributes, 'the API server can not be reached');
    }
    try {
      return await this.#ask(identity, attributes);
    } catch (error) {
      if (isUnauthorized(error)) throw await this.#rejected(identity);
      if (otherwise !== undefined && !(error instanceof ApiStatusError && error.code < 500)) return otherwise;
      this.#options.log.warn({ err: error, identity: identity.key }, 'an access review failed');
      throw unknown(attributes, (error as Error).message);
    }
  }

  /** Those who ask the same at the same time wait for one answer. Two tokens of one account may differ in theirs. */
  #ask(identity: BearerIdentity, attributes: ResourceAttributes): Promise<Decision> {
    const key = JSON.stringify([identity.token, decisionKey(identity.key, attributes)]);
    const asking = this.#asking.get(key) ?? this.#review(identity, attributes);
    this.#asking.set(key, asking);
    const done = (): boolean => this.#asking.delete(key);
    asking.then(done, done);
    return asking;
  }

  async #review(identity: BearerIdentity, attributes: ResourceAttributes): Promise<Decision> {
    const { tokens, clock } = this.#options;
    const { verb, group, version, resource, namespace, name } = attributes;
    const { allowed, reason } = await this.#post<{ allowed?: boolean; reason?: string }>(
      identity,
      'authorization.k8s.io/v1',
      'SelfSubjectAccessReview',
      { resourceAttributes: { verb, group, version, resource, namespace, name } },
    );
    await tokens.accepted(identity.token);
    const decision: Decision =
      allowed === true
        ? { allowed, askedAt: clock.monotonic() }
        : { allowed: false, username: await this.#usernameOf(identity), reason };
    this.#decisions.put(identity.key, attributes, decision);
    return decision;
  }

  /** Only needed for the words of a refusal. */
  async #usernameOf(identity: BearerIdentity): Promise<string> {
    const username = usernameOf(identity.key);
    if (username !== undefined) return username;
    const review = this.#post<{ userInfo?: { username?: string } }>(
      identity,
      'authentication.k8s.io/v1',
      'SelfSubjectReview',
    );
    // Kubernetes before 1.28 has no such review.
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

  async #rejected({ key, token }: BearerIdentity): Promise<ApiError> {
    this.forget(key);
    await this.#options.tokens.rejected(token);
    return unauthorized();
  }
}

/** In the words of the API server. */
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
    `whether you may ${verb} ${resource} is not known at this node, and could not be asked: ${why}`,
    { retryAfterSeconds: RETRY_AFTER_SECONDS },
  );
