import { createHash } from 'node:crypto';
import type { DurableMap } from '@tidegate/disk';
import { type Clock, type KubeObject, systemClock } from '@tidegate/kube';
import { FairMap, type Holder, tenantOfNamespace } from '../shares/index.ts';

/** A TokenRequest, as a client sends it and as the API server returns it. */
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
  /**
   * The maximum number of tokens. If there are more, the one that was issued longest ago is deleted. 2,000 by
   * default.
   */
  maxTokens?: number;
}

/** The format on disk. `issuedAt` is in milliseconds since the epoch. */
interface Issued {
  issuedAt: number;
  /** The namespace of the account. Versions before 0.2.0 did not store it. */
  namespace?: string;
  answer: TokenRequest;
}

const MAX_TOKENS = 2000;
/**
 * The remaining lifetime that the hub reports for an expired token. The kubelet requests a new token before
 * that time is over.
 */
const EXTENSION_MS = 10 * 60_000;

/**
 * The newest token that the API server issued for each purpose: service account, audiences, and the object
 * that it is bound to. While no API server is reachable, the hub returns the same token again. If there are too many, the
 * oldest of the namespace with the most is deleted: a pod decides how many tokens the kubelet requests for it. No other
 * component may use the map. Only its owner can read the file, because it contains credentials.
 */
export class IssuedTokens {
  readonly #map: DurableMap;
  readonly #clock: Clock;
  /** The purposes, by namespace in the order in which their tokens were issued. */
  readonly #purposes: FairMap<true>;

  private constructor(map: DurableMap, { clock = systemClock, maxTokens = MAX_TOKENS }: IssuedTokensOptions) {
    this.#map = map;
    this.#clock = clock;
    const limits = { perIdentity: maxTokens, total: maxTokens };
    this.#purposes = new FairMap(limits, (purpose) => map.delete(purpose));
  }

  static async open(map: DurableMap, options: IssuedTokensOptions = {}): Promise<IssuedTokens> {
    const tokens = new IssuedTokens(map, options);
    const found: { purpose: string; issuedAt: number; namespace: string }[] = [];
    for await (const [purpose, bytes] of map.entries()) {
      const { issuedAt, namespace = '' } = decode(bytes);
      found.push({ purpose, issuedAt, namespace });
    }
    for (const { purpose, namespace } of found.toSorted((a, b) => a.issuedAt - b.issuedAt))
      tokens.#purposes.set(purpose, true, holderIn(namespace));
    return tokens;
  }

  get size(): number {
    return this.#purposes.size;
  }

  /** Stores the response of the API server to a TokenRequest. */
  remember(account: Account, request: TokenRequest, answer: TokenRequest): void {
    if (answer.status?.token === undefined) return;
    const purpose = purposeOf(account, request);
    const { namespace } = account;
    const issued: Issued = { issuedAt: this.#clock.now(), namespace, answer };
    this.#map.put(purpose, Buffer.from(JSON.stringify(issued)));
    this.#purposes.set(purpose, true, holderIn(namespace));
  }

  /**
   * Returns the stored response to the same request; undefined if there is none.
   *
   * An expired token is returned as well. No client can renew it while the API server is unreachable, and the
   * hub accepts it (see ValidityTimes in identity/). Its reported lifetime is short, so that the kubelet soon
   * requests a new one.
   */
  async find(account: Account, request: TokenRequest): Promise<TokenRequest | undefined> {
    const bytes = await this.#map.get(purposeOf(account, request));
    if (bytes === undefined) return undefined;
    const { answer } = decode(bytes);
    const now = this.#clock.now();
    const expires = Date.parse(answer.status?.expirationTimestamp ?? '');
    if (expires > now) return answer;
    const extended = new Date(now + EXTENSION_MS).toISOString();
    return { ...answer, status: { ...answer.status, expirationTimestamp: `${extended.slice(0, 19)}Z` } };
  }

  /** Deletes the tokens of all other pods, which have left this node. */
  forgetExcept(podUids: ReadonlySet<string>): void {
    for (const purpose of [...this.#purposes.keys()]) {
      const [kind, uid = ''] = purpose.split('/');
      if (kind === 'Pod' && !podUids.has(uid)) this.#forget(purpose);
    }
  }

  #forget(purpose: string): void {
    this.#purposes.delete(purpose);
    this.#map.delete(purpose);
  }
}

const holderIn = (namespace: string): Holder => ({
  identity: namespace,
  tenant: tenantOfNamespace(namespace),
});

/**
 * `Pod/<uid>/<hash of the rest>`. The UID is readable, so that tokens of deleted pods are found without
 * reading entries. The requested lifetime is not part of the purpose.
 */
function purposeOf({ namespace, name }: Account, { spec }: TokenRequest): string {
  const { kind = '', uid = '', name: boundName = '' } = spec?.boundObjectRef ?? {};
  const rest = JSON.stringify([namespace, name, boundName, (spec?.audiences ?? []).toSorted()]);
  return [kind, uid, createHash('sha256').update(rest).digest('hex')].map(encodeURIComponent).join('/');
}

/** Not validated: only `remember` writes entries, and the file has checksums. */
const decode = (bytes: Buffer): Issued => JSON.parse(bytes.toString('utf8')) as Issued;
