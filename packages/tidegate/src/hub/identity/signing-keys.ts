import { isDeepStrictEqual } from 'node:util';
import { type Clock, type KubeClient, type Logger, sleep } from '@tidegate/kube';
import { KeySet } from './key-set.ts';
import type { Memory } from './memory.ts';
import { readClaims, type ServiceAccountClaims } from './service-account-token.ts';

export interface SigningKeysOptions {
  /** With the node's credentials. */
  client: KubeClient;
  memory: Memory;
  online: () => boolean;
  clock: Clock;
  log: Logger;
}

/**
 * `verified`: signed by the cluster and meant for its API server. `forged`: signed by nobody who may. `unknown`: nothing
 * can be said here; the API server can.
 */
export type Verdict =
  | { verdict: 'verified'; claims: ServiceAccountClaims }
  | { verdict: 'forged' | 'unknown' };

/** What the API server tells of its tokens, and what it has shown: the audiences that mean it. */
interface Document {
  issuer: string;
  jwks: unknown;
  audiences: readonly string[];
}

const DOCUMENT = 'signing-keys';
const REFRESH_MS = 3_600_000;
const RETRY_MS = 30_000;
/** Tokens that name unknown keys can be made by anybody: the API server is not asked for each of them. */
const LEAST_BETWEEN_MS = 10_000;
const DEADLINE_MS = 5_000;
const MOST_VERIFIED = 1_000;

/** Verifies tokens of service accounts with the keys of the API server, which are kept for when it is away. */
export class SigningKeys {
  readonly #options: SigningKeysOptions;
  #document: Document | undefined;
  #keys: KeySet | undefined;
  #attemptedAt = Number.NEGATIVE_INFINITY;
  #refreshing: Promise<boolean> | undefined;
  /** Signatures cost more than anything else about a request; the least recently verified goes first. */
  readonly #verified = new Set<string>();

  private constructor(options: SigningKeysOptions) {
    this.#options = options;
  }

  static async open(options: SigningKeysOptions): Promise<SigningKeys> {
    const keys = new SigningKeys(options);
    const stored = await options.memory.get(DOCUMENT);
    if (stored !== undefined) keys.#use(JSON.parse(stored.toString()) as Document);
    return keys;
  }

  /** Keeps the keys current until the signal is aborted. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, online } = this.#options;
    while (!signal.aborted) {
      const fresh = online() && (await this.#refresh());
      await sleep(clock, fresh ? REFRESH_MS : RETRY_MS, signal).catch(() => {}); // Aborted: the loop ends.
    }
  }

  async judge(token: string): Promise<Verdict> {
    const claims = readClaims(token);
    if (claims === undefined) return { verdict: 'unknown' };
    if (this.#keys?.knows(token) !== true) await this.#refreshIfDue();
    if (claims.issuer !== this.#document?.issuer || this.#keys?.knows(token) !== true)
      return { verdict: 'unknown' };
    if (!this.#isSigned(token)) return { verdict: 'forged' };
    return this.#isForUs(claims) ? { verdict: 'verified', claims } : { verdict: 'unknown' };
  }

  /**
   * The API server has accepted `token`. Of one that it signed for a single audience it follows that this audience
   * means the API server, whatever its issuer is called.
   */
  learn(token: string): void {
    const claims = readClaims(token);
    if (claims === undefined || this.#document === undefined || !this.haveSigned(token)) return;
    if (claims.audiences.length !== 1 || this.#isForUs(claims)) return;
    this.#keep({ ...this.#document, audiences: [...this.#document.audiences, ...claims.audiences] });
  }

  /** Whether it is a token of the cluster, for whatever audience, as far as is known now. */
  haveSigned(token: string): boolean {
    return readClaims(token)?.issuer === this.#document?.issuer && this.#isSigned(token);
  }

  /**
   * A token for others, shown to us by somebody whom it was given to, must not open this door. Which audiences the API
   * server goes by is known to it alone: such a token is left to it, and not taken on its signature.
   */
  #isForUs({ audiences }: ServiceAccountClaims): boolean {
    const { issuer, audiences: learned } = this.#document!;
    return audiences.some((audience) => audience === issuer || learned.includes(audience));
  }

  #isSigned(token: string): boolean {
    if (!this.#verified.delete(token) && this.#keys?.verifies(token) !== true) return false;
    this.#verified.add(token);
    if (this.#verified.size > MOST_VERIFIED) this.#verified.delete(this.#verified.values().next().value!);
    return true;
  }

  async #refreshIfDue(): Promise<void> {
    const { online, clock } = this.#options;
    const due = clock.monotonic() - this.#attemptedAt >= LEAST_BETWEEN_MS;
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
      if (typeof issuer !== 'string') throw new Error('/.well-known/openid-configuration names no issuer');
      const audiences = issuer === this.#document?.issuer ? this.#document.audiences : [];
      this.#keep({ issuer, jwks, audiences });
      return true;
    } catch (err) {
      log.warn(
        { err },
        'the keys of service account tokens could not be read; new tokens are left to the API server to judge',
      );
      return false;
    }
  }

  #keep(document: Document): void {
    if (isDeepStrictEqual(document, this.#document)) return;
    this.#use(document);
    this.#options.memory.put(DOCUMENT, Buffer.from(JSON.stringify(document)));
  }

  #use(document: Document): void {
    this.#keys = new KeySet(document.jwks);
    this.#document = document;
    this.#verified.clear();
  }
}

/** The real server has no other form of it, and says so to whoever asks for JSON alone. */
const JWKS_HEADERS = { accept: 'application/jwk-set+json, application/json' };
