import { isDeepStrictEqual } from 'node:util';
import { type Clock, type KubeClient, type Logger, sleep } from '@tidegate/kube';
import { errors } from 'jose';
import { KeySet } from './key-set.ts';
import type { Memory } from './memory.ts';
import {
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
 * - `forged`: it names a key of the cluster, but that key did not sign it.
 * - `unknown`: the hub cannot verify the token; only the API server can.
 */
export type TokenVerification =
  | { status: 'verified'; claims: ServiceAccountClaims }
  | { status: 'untimely' | 'forged' | 'unknown' };

/** What the API server publishes about its tokens, and the audiences that it has accepted so far. */
interface Document {
  issuer: string;
  jwks: unknown;
  audiences: readonly string[];
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
    const document = JSON.parse(stored.toString()) as Document;
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
   * Call this when the API server has accepted `token`. If the token has a single audience, that audience
   * must be one of the audiences of the API server. The hub has no other way to learn them: the flag
   * --api-audiences is not published.
   */
  async learn(token: string): Promise<void> {
    const claims = readClaims(token);
    if (claims === undefined || claims.audiences.length !== 1) return;
    if (this.#isForApiServer(claims) || !(await this.haveSigned(token))) return;
    if (this.#isForApiServer(claims) || this.#document === undefined || this.#keys === undefined) return;
    const audiences = [...this.#document.audiences, ...claims.audiences];
    this.#keep({ ...this.#document, audiences }, this.#keys);
  }

  /**
   * Whether the cluster has signed the token, for any audience and any time. Only uses keys that are known
   * now.
   */
  async haveSigned(token: string): Promise<boolean> {
    const claims = readClaims(token);
    if (claims === undefined || claims.issuer !== this.#document?.issuer) return false;
    return this.#verified.has(token) || (await this.#keys?.hasSigned(token)) === true;
  }

  #isForApiServer({ audiences }: ServiceAccountClaims): boolean {
    const known = this.#document === undefined ? [] : audiencesOf(this.#document);
    return audiences.some((audience) => known.includes(audience));
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
      const audiences = issuer === this.#document?.issuer ? this.#document.audiences : [];
      this.#keep({ issuer, jwks, audiences }, keys);
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

/**
 * The audiences of the API server that the hub knows: its issuer, which is the default audience, and those
 * that it has accepted. The hub never accepts a token for another audience on its signature. Otherwise, a
 * service that receives such a token could use it here to impersonate its client.
 */
const audiencesOf = ({ issuer, audiences }: Document): string[] => [issuer, ...audiences];

async function verify(
  token: string,
  claims: ServiceAccountClaims,
  keys: KeySet,
  document: Document,
  { now, expiry }: ValidityTimes,
): Promise<void> {
  const options = {
    issuer: document.issuer,
    audience: audiencesOf(document),
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
function statusOf(error: unknown): 'untimely' | 'forged' | 'unknown' {
  if (error instanceof errors.JWTExpired) return 'untimely';
  if (!(error instanceof errors.JWTClaimValidationFailed)) return 'forged';
  if (error.claim === 'nbf') return 'untimely';
  return error.claim === 'aud' || error.claim === 'iss' ? 'unknown' : 'forged';
}

/**
 * The API server serves the key set only as application/jwk-set+json, and returns 406 if a client accepts
 * only JSON.
 */
const JWKS_HEADERS = { accept: 'application/jwk-set+json, application/json' };
