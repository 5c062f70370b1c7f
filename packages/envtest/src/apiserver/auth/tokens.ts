/** Service account tokens: signing and verification. */
import { randomUUID } from 'node:crypto';
import { jwtPart, notFound } from '@tidegate/serving';
import type { UserInfo } from '../resources/types.ts';
import type { Entry, Key, Store } from '../store/types.ts';
import { authenticated, EXTRA, serviceAccountGroups, serviceAccountUsername } from './identity.ts';
import type { ServiceAccountKey } from './service-account-key.ts';

/** Maximum clock difference between signer and verifier. */
const LEEWAY_SECONDS = 60;
const CACHED_TOKENS = 1024;

export interface ObjectName {
  name: string;
  uid: string;
}

/** The service account of a token and the object to which the token is bound, if any. */
export interface TokenSubject {
  namespace: string;
  serviceAccount: ObjectName;
  pod?: ObjectName;
  secret?: ObjectName;
  /** The uid is missing if a pod names a node that does not exist. */
  node?: { name: string; uid?: string };
}

/** A token to issue. */
export interface IssueOptions {
  subject: TokenSubject;
  audiences: string[];
  expirationSeconds: number;
  /** After this time, each use of the token is recorded. */
  warnAfterSeconds?: number;
}

interface Claims {
  aud: string[];
  exp: number;
  nbf: number;
  iat: number;
  jti: string | undefined;
  subject: TokenSubject;
}

/** `error` is shown in a TokenReview. It never reveals more about a token than its holder may know. */
export type TokenReviewResult = { user: UserInfo; audiences: string[] } | { error: string };

export interface ServiceAccountTokensOptions {
  key: ServiceAccountKey;
  store: Store;
  issuer: string;
  now: () => Date;
}

/** Issues tokens and verifies them. Signatures are cached; whether the account still exists is checked every time. */
export class ServiceAccountTokens {
  readonly issuer: string;
  /** The audiences of this server. */
  readonly audiences: string[];
  readonly #key: ServiceAccountKey;
  readonly #store: Store;
  readonly #now: () => Date;
  /** Claims of tokens whose signature was verified, as a cache with least-recently-used eviction. */
  readonly #verified = new Map<string, Claims>();

  constructor(options: ServiceAccountTokensOptions) {
    this.issuer = options.issuer;
    this.audiences = [options.issuer];
    this.#key = options.key;
    this.#store = options.store;
    this.#now = options.now;
  }

  issue(options: IssueOptions): string {
    const { namespace, serviceAccount, pod, secret, node } = options.subject;
    const now = Math.floor(this.#now().getTime() / 1000);
    const warnAfter = options.warnAfterSeconds;
    return this.#key.sign({
      aud: options.audiences,
      exp: now + options.expirationSeconds,
      iat: now,
      iss: this.issuer,
      jti: randomUUID(),
      'kubernetes.io': {
        namespace,
        ...(node === undefined ? {} : { node }),
        ...(pod === undefined ? {} : { pod }),
        ...(secret === undefined ? {} : { secret }),
        serviceaccount: serviceAccount,
        ...(warnAfter === undefined ? {} : { warnafter: now + warnAfter }),
      },
      nbf: now,
      sub: serviceAccountUsername(namespace, serviceAccount.name),
    });
  }

  /** Returns undefined if the token was not issued by this server. */
  verify(token: string, audiences: string[] = this.audiences): TokenReviewResult | undefined {
    const claims = this.#verifiedClaims(token);
    if (claims === undefined || 'error' in claims) return claims;
    const shared = audiences.filter((audience) => claims.aud.includes(audience));
    if (shared.length === 0) {
      const print = (list: string[]): string => `[${list.map((a) => JSON.stringify(a)).join(' ')}]`;
      return {
        error: `token audiences ${print(claims.aud)} is invalid for the target audiences ${print(audiences)}`,
      };
    }
    const error = this.#timeError(claims) ?? this.#subjectError(claims.subject);
    return error === undefined ? { user: userOf(claims), audiences: shared } : { error };
  }

  #verifiedClaims(token: string): Claims | { error: string } | undefined {
    const cached = this.#verified.get(token);
    if (cached !== undefined) {
      this.#verified.delete(token);
      this.#verified.set(token, cached);
      return cached;
    }
    const payload = jwtPart(token, 1);
    if (payload === undefined || payload.iss !== this.issuer) return undefined;
    if (!this.#key.verifies(token)) return { error: 'go-jose/go-jose: error in cryptographic primitive' };
    const claims = parseClaims(payload);
    this.#verified.set(token, claims);
    if (this.#verified.size > CACHED_TOKENS) this.#verified.delete(this.#verified.keys().next().value!);
    return claims;
  }

  /** Why the token is not valid at this time; undefined if it is. */
  #timeError(claims: Claims): string | undefined {
    const now = this.#now().getTime() / 1000;
    if (now + LEEWAY_SECONDS < claims.nbf) return 'service account token is not valid yet';
    if (now - LEEWAY_SECONDS > claims.exp) return 'service account token has expired';
    if (now + LEEWAY_SECONDS < claims.iat) return 'service account token is issued in the future';
    return undefined;
  }

  /**
   * A token is valid only while its service account and its bound object exist, so both are checked on every request.
   */
  #subjectError(subject: TokenSubject): string | undefined {
    const { namespace, serviceAccount, pod, secret, node } = subject;
    const account = this.#lookUp({ resource: 'serviceaccounts', namespace, name: serviceAccount.name });
    if (account === undefined) {
      return notFound({ group: '', resource: 'serviceaccounts' }, serviceAccount.name).message;
    }
    if (account.uid !== serviceAccount.uid) {
      return `service account UID (${account.uid}) does not match claim (${serviceAccount.uid})`;
    }
    if (this.#isGone(account)) return `service account ${namespace}/${serviceAccount.name} has been deleted`;
    if (secret !== undefined) {
      const error = this.#boundError(
        'secret',
        { resource: 'secrets', namespace, name: secret.name },
        secret.uid,
      );
      if (error !== undefined) return error;
    }
    if (pod !== undefined) {
      return this.#boundError('pod', { resource: 'pods', namespace, name: pod.name }, pod.uid);
    }
    // For a pod-bound token, the node is informational and is not checked.
    if (node !== undefined) {
      return this.#boundError('node', { resource: 'nodes', namespace: '', name: node.name }, node.uid);
    }
    return undefined;
  }

  #boundError(kind: string, key: Key, uid: string | undefined): string | undefined {
    const found = this.#lookUp(key);
    if (found === undefined) return 'service account token has been invalidated';
    if (found.uid !== uid) {
      return `${kind} UID (${found.uid}) does not match service account ${kind} ref claim (${uid})`;
    }
    return this.#isGone(found) ? 'service account token has been invalidated' : undefined;
  }

  #lookUp(key: Key): Existence | undefined {
    const entry = this.#store.get(key);
    return entry === undefined ? undefined : existenceOf(entry);
  }

  #isGone(object: Existence): boolean {
    return object.deletedAt !== undefined && object.deletedAt < this.#now().getTime() - LEEWAY_SECONDS * 1000;
  }
}

interface Existence {
  uid: string;
  deletedAt: number | undefined;
}

/** Stored bytes are immutable, so the parsed result is cached for as long as the bytes exist. */
const existences = new WeakMap<Buffer, Existence>();

function existenceOf(entry: Entry): Existence {
  let existence = existences.get(entry.value);
  if (existence === undefined) {
    const { metadata } = JSON.parse(entry.value.toString()) as {
      metadata: { uid: string; deletionTimestamp?: string };
    };
    const deletedAt =
      metadata.deletionTimestamp === undefined ? undefined : Date.parse(metadata.deletionTimestamp);
    existence = { uid: metadata.uid, deletedAt };
    existences.set(entry.value, existence);
  }
  return existence;
}

/** Only verified claims of our own tokens get here, so the structure is known. */
function parseClaims(payload: Record<string, unknown>): Claims {
  const claims = payload as unknown as {
    aud: string[];
    exp: number;
    nbf: number;
    iat: number;
    jti?: string;
    'kubernetes.io': Omit<TokenSubject, 'serviceAccount'> & { serviceaccount: ObjectName };
  };
  const { serviceaccount, ...bound } = claims['kubernetes.io'];
  return {
    aud: claims.aud,
    exp: claims.exp,
    nbf: claims.nbf,
    iat: claims.iat,
    jti: claims.jti,
    subject: { ...bound, serviceAccount: serviceaccount },
  };
}

function userOf({ jti, subject }: Claims): UserInfo {
  const { namespace, serviceAccount, pod, node } = subject;
  const extra: Record<string, string[]> = {};
  if (jti !== undefined) extra[EXTRA.credentialId] = [`JTI=${jti}`];
  if (pod !== undefined) {
    extra[EXTRA.podName] = [pod.name];
    extra[EXTRA.podUid] = [pod.uid];
  }
  if (node !== undefined) {
    extra[EXTRA.nodeName] = [node.name];
    if (node.uid !== undefined) extra[EXTRA.nodeUid] = [node.uid];
  }
  return authenticated({
    username: serviceAccountUsername(namespace, serviceAccount.name),
    uid: serviceAccount.uid,
    groups: serviceAccountGroups(namespace),
    extra,
  });
}
