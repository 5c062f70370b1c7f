import { isDeepStrictEqual } from 'node:util';
import { type Clock, type KubeClient, type Logger, sleep } from '@tidegate/kube';
import { errors } from 'jose';
import { KeySet } from './key-set.ts';
import type { Memory } from './memory.ts';
import {
  isStrict,
  isTimely,
  LEEWAY_SECONDS,
  readClaims,
  type ServiceAccountClaims,
  type ValidityTimes,
} from './service-account-token.ts';

export interface SigningKeysOptions {
  /** A client with the credentials of the node. */
  client: KubeClient;
  memory: Memory;
  /** Whether an API server is reachable. */
  online: () => boolean;
  clock: Clock;
  log: Logger;
}

/**
 * The result of verifying a token:
 * - `verified`: the cluster signed it, it is meant for the API server, and it is valid now.
 * - `untimely`: the same, but it has expired or is not valid yet.
 * - `other audience`: the cluster signed it, but no TokenReview has shown yet that it is meant for the API server.
 * - `forged`: it names a key of the cluster, but that key did not sign it, or it is not written in the valid way.
 * - `unknown`: the hub cannot verify the token; only the API server can.
 */
export type TokenVerification =
  | { status: 'verified'; claims: ServiceAccountClaims }
  | { status: 'untimely' | 'other audience' | 'forged' | 'unknown' };

/**
 * What the API server publishes about its tokens, and its audiences as TokenReviews have shown them. Versions before 0.2.0
 * stored `audiences`, which were not proved; they are ignored.
 */
interface Document {
  issuer: string;
  jwks: unknown;
  provedAudiences: readonly string[];
}

const DOCUMENT = 'signing-keys';
const REFRESH_MS = 3_600_000;
const RETRY_MS = 30_000;
/**
 * The minimum time between two requests for the keys. Any client can create tokens that name unknown keys, and
 * each of them would cause a request.
 */
const MIN_REFRESH_INTERVAL_MS = 10_000;
const DEADLINE_MS = 5_000;
const MAX_VERIFIED = 1_000;

/**
 * Verifies service account tokens with the public keys of the API server (see "Service account issuer
 * discovery" in the Kubernetes documentation). The keys are stored on disk, so that the hub can verify tokens
 * while no API server is reachable.
 */
export class SigningKeys {
  readonly #options: SigningKeysOptions;
  #document: Document | undefined;
  #keys: KeySet | undefined;
  /** Monotonic time of the last request for the keys. */
  #attemptedAt = Number.NEGATIVE_INFINITY;
  #refreshing: Promise<boolean> | undefined;
  /**
   * Tokens that were verified with the current keys and audiences, least recently used first. Verifying a
   * signature takes longer than the rest of a request, so it is done once per token. Later requests only
   * check the times.
   */
  readonly #verified = new Set<string>();

  private constructor(options: SigningKeysOptions) {
    this.#options = options;
  }

  static async open(options: SigningKeysOptions): Promise<SigningKeys> {
    const keys = new SigningKeys(options);
    const stored = await options.memory.get(DOCUMENT);
    if (stored === undefined) return keys;
    const { issuer, jwks, provedAudiences = [] } = JSON.parse(stored.toString()) as Document;
    const document = { issuer, jwks, provedAudiences };
    keys.#use(document, await KeySet.open(document.jwks));
    return keys;
  }

  /** Keeps the keys current until the signal is aborted. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, online } = this.#options;
    while (!signal.aborted) {
      const fresh = online() && (await this.#refresh());
      await sleep(clock, fresh ? REFRESH_MS : RETRY_MS, signal).catch(() => {}); // Rejects when aborted.
    }
  }

  /**
   * Verifies a token. If the token names an unknown key, the keys are refreshed first, because the cluster
   * may have rotated them. `times` is called after that, because the refresh may take a while.
   */
  async verify(token: string, times: () => ValidityTimes): Promise<TokenVerification> {
    const claims = readClaims(token);
    if (claims === undefined) return { status: 'unknown' };
    // Before anything else, so that a client cannot cause requests for keys with many spellings of one token.
    if (!isStrict(token)) return { status: 'forged' };
    if (this.#keys?.knows(token) !== true) await this.#refreshIfDue();
    const keys = this.#keys;
    const document = this.#document;
    if (claims.issuer !== document?.issuer || keys?.knows(token) !== true) return { status: 'unknown' };
    if (this.#verified.has(token)) {
      this.#remember(token);
      return isTimely(claims, times()) ? { status: 'verified', claims } : { status: 'untimely' };
    }
    try {
      await verify(token, claims, keys, document, times());
    } catch (error) {
      return { status: statusOf(error) };
    }
    // If the keys have changed in the meantime, the token has to be verified again with the new keys.
    if (this.#document === document) this.#remember(token);
    return { status: 'verified', claims };
  }

  /**
   * Adds audiences of the API server that a TokenReview has shown. The hub has no other way to learn them: the flag
   * --api-audiences is not published.
   */
  learn(audiences: readonly string[]): void {
    if (this.#document === undefined || this.#keys === undefined) return;
    const known = this.#document.provedAudiences;
    const added = audiences.filter((audience) => !known.includes(audience));
    if (added.length === 0) return;
    this.#keep({ ...this.#document, provedAudiences: [...known, ...added] }, this.#keys);
  }

  #remember(token: string): void {
    this.#verified.delete(token);
    this.#verified.add(token);
    if (this.#verified.size > MAX_VERIFIED) this.#verified.delete(this.#verified.values().next().value!);
  }

  async #refreshIfDue(): Promise<void> {
    const { online, clock } = this.#options;
    const due = clock.monotonic() - this.#attemptedAt >= MIN_REFRESH_INTERVAL_MS;
    if (online() && (due || this.#refreshing !== undefined)) await this.#refresh();
  }

  #refresh(): Promise<boolean> {
    this.#refreshing ??= this.#fetch().finally(() => {
      this.#refreshing = undefined;
    });
    return this.#refreshing;
  }

  async #fetch(): Promise<boolean> {
    const { client, clock, log } = this.#options;
    this.#attemptedAt = clock.monotonic();
    try {
      const options = { deadlineMs: DEADLINE_MS };
      const [configuration, jwks] = await Promise.all([
        client.raw({ method: 'GET', path: '/.well-known/openid-configuration' }, options),
        client.raw({ method: 'GET', path: '/openid/v1/jwks', headers: JWKS_HEADERS }, options),
      ]);
      const { issuer } = configuration as { issuer?: unknown };
      if (typeof issuer !== 'string') throw new Error('/.well-known/openid-configuration has no issuer');
      const keys = await KeySet.open(jwks);
      const provedAudiences = issuer === this.#document?.issuer ? this.#document.provedAudiences : [];
      this.#keep({ issuer, jwks, provedAudiences }, keys);
      return true;
    } catch (err) {
      log.warn(
        { err },
        'cannot read the signing keys of service account tokens; until a retry succeeds, tokens that are signed with new keys are accepted only while an API server is reachable',
      );
      return false;
    }
  }

  #keep(document: Document, keys: KeySet): void {
    if (isDeepStrictEqual(document, this.#document)) return;
    this.#use(document, keys);
    this.#options.memory.put(DOCUMENT, Buffer.from(JSON.stringify(document)));
  }

  #use(document: Document, keys: KeySet): void {
    this.#keys = keys;
    this.#document = document;
    this.#verified.clear();
  }
}

async function verify(
  token: string,
  claims: ServiceAccountClaims,
  keys: KeySet,
  document: Document,
  { now, expiry }: ValidityTimes,
): Promise<void> {
  const options = {
    issuer: document.issuer,
    // Never empty: jose would not check the audience. A service that receives a token for another audience could
    // otherwise use it here to impersonate its client.
    audience: ['', ...document.provedAudiences],
    clockTolerance: LEEWAY_SECONDS,
  };
  try {
    await keys.verify(token, { ...options, currentDate: new Date(now) });
  } catch (error) {
    if (!(error instanceof errors.JWTExpired) || expiry >= now) throw error;
    // Offline, the token must not have expired at the last contact. A token that was issued after the last
    // contact cannot have expired before it, so it is verified at its own start time.
    const currentDate = new Date(Math.max(expiry, claims.notBefore));
    await keys.verify(token, { ...options, currentDate });
  }
}

/**
 * jose checks claims after the signature. Every error that does not concern a claim means that the token is
 * not genuine.
 */
function statusOf(error: unknown): 'untimely' | 'other audience' | 'forged' | 'unknown' {
  if (error instanceof errors.JWTExpired) return 'untimely';
  if (!(error instanceof errors.JWTClaimValidationFailed)) return 'forged';
  if (error.claim === 'nbf') return 'untimely';
  if (error.claim === 'aud') return 'other audience';
  return error.claim === 'iss' ? 'unknown' : 'forged';
}

/**
 * The API server serves the key set only as application/jwk-set+json, and returns 406 if a client accepts
 * only JSON.
 */
const JWKS_HEADERS = { accept: 'application/jwk-set+json, application/json' };
