import { createHash } from 'node:crypto';
import type { DurableMap } from '@tidegate/disk';
import { type Clock, type KubeObject, systemClock } from '@tidegate/kube';

/** A TokenRequest, as a client sends it and as it is answered. */
export interface TokenRequest extends KubeObject {
  spec?: {
    audiences?: string[];
    expirationSeconds?: number;
    boundObjectRef?: { kind?: string; apiVersion?: string; name?: string; uid?: string } | null;
  };
  status?: { token?: string; expirationTimestamp?: string };
}

/** The service account that a token is for. */
export interface Account {
  namespace: string;
  name: string;
}

export interface IssuedTokensOptions {
  clock?: Clock;
  /** Beyond this the one that was issued longest ago goes; 2,000 unless told. */
  mostTokens?: number;
}

interface Issued {
  issuedAt: number;
  answer: TokenRequest;
}

const MOST_TOKENS = 2000;
/** How long a client is told that an expired token is good for: it asks again after a part of that. */
const EXTENSION_MS = 10 * 60_000;

/**
 * The newest token that the API server issued for each purpose: account, audiences and the object it is bound to. While
 * the server is away, the same token is handed out again. The map must be its own; its file is for its owner's eyes only.
 */
export class IssuedTokens {
  readonly #map: DurableMap;
  readonly #clock: Clock;
  readonly #mostTokens: number;
  /** The purposes, the one whose token is oldest first. */
  readonly #purposes = new Set<string>();

  private constructor(
    map: DurableMap,
    { clock = systemClock, mostTokens = MOST_TOKENS }: IssuedTokensOptions,
  ) {
    this.#map = map;
    this.#clock = clock;
    this.#mostTokens = mostTokens;
  }

  static async open(map: DurableMap, options: IssuedTokensOptions = {}): Promise<IssuedTokens> {
    const tokens = new IssuedTokens(map, options);
    const found: { purpose: string; issuedAt: number }[] = [];
    for await (const [purpose, bytes] of map.entries())
      found.push({ purpose, issuedAt: decode(bytes).issuedAt });
    for (const { purpose } of found.toSorted((a, b) => a.issuedAt - b.issuedAt))
      tokens.#purposes.add(purpose);
    return tokens;
  }

  get size(): number {
    return this.#purposes.size;
  }

  /** What the API server answered to a request for a token. */
  remember(account: Account, request: TokenRequest, answer: TokenRequest): void {
    if (answer.status?.token === undefined) return;
    const purpose = purposeOf(account, request);
    const issued: Issued = { issuedAt: this.#clock.now(), answer };
    this.#map.put(purpose, Buffer.from(JSON.stringify(issued)));
    this.#purposes.delete(purpose);
    this.#purposes.add(purpose);
    for (const oldest of this.#purposes) {
      if (this.#purposes.size <= this.#mostTokens) break;
      this.#forget(oldest);
    }
  }

  /**
   * The answer to the same request once more; undefined when there was none. An expired token is handed out too: nobody
   * could renew it, and who checks it knows that. What it is said to be good for is short, so that the client comes back
   * for a fresh one.
   */
  async again(account: Account, request: TokenRequest): Promise<TokenRequest | undefined> {
    const bytes = await this.#map.get(purposeOf(account, request));
    if (bytes === undefined) return undefined;
    const { answer } = decode(bytes);
    const now = this.#clock.now();
    const expires = Date.parse(answer.status?.expirationTimestamp ?? '');
    if (expires > now) return answer;
    const extended = new Date(now + EXTENSION_MS).toISOString();
    return { ...answer, status: { ...answer.status, expirationTimestamp: `${extended.slice(0, 19)}Z` } };
  }

  /** Forgets the tokens of all other pods: those are gone from this node. */
  forgetExcept(podUids: ReadonlySet<string>): void {
    for (const purpose of this.#purposes) {
      const [kind, uid = ''] = purpose.split('/');
      if (kind === 'Pod' && !podUids.has(uid)) this.#forget(purpose);
    }
  }

  #forget(purpose: string): void {
    this.#purposes.delete(purpose);
    this.#map.delete(purpose);
  }
}

/** `Pod/<uid>/<the rest>`: whose pods are gone is seen without reading. How long it was to be good for plays no part. */
function purposeOf({ namespace, name }: Account, { spec }: TokenRequest): string {
  const { kind = '', uid = '', name: boundName = '' } = spec?.boundObjectRef ?? {};
  const rest = JSON.stringify([namespace, name, boundName, (spec?.audiences ?? []).toSorted()]);
  return [kind, uid, createHash('sha256').update(rest).digest('hex')].map(encodeURIComponent).join('/');
}

/** Only what `remember` wrote is ever read, and the file's checksums tell when it is not. */
const decode = (bytes: Buffer): Issued => JSON.parse(bytes.toString('utf8')) as Issued;
