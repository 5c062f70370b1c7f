import { createHash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { TLSSocket } from 'node:tls';
import type { Clock, KubeClient, Logger } from '@tidegate/kube';
import {
  ApiError,
  bearerToken,
  ClientCertificates,
  type ShownCertificate,
  unauthorized,
} from '@tidegate/serving';
import { type AnonymousIdentity, type Identity, type NodeIdentity, nodeUser } from './identity.ts';
import type { Memory } from './memory.ts';
import { serviceAccountKey, type ValidityTimes } from './service-account-token.ts';
import { SigningKeys } from './signing-keys.ts';
import { TokenMemory } from './token-memory.ts';

export interface AuthenticatorOptions {
  nodeName: string;
  /** A client with the credentials of the node. */
  client: KubeClient;
  memory: Memory;
  /** Whether an API server is reachable. */
  online: () => boolean;
  /** The time of the last contact with an API server, in milliseconds since the epoch; undefined if there was none. */
  lastContact: () => number | undefined;
  clock: Clock;
  log: Logger;
}

/** The listener that a request came through. */
export interface Entrance {
  /** Whether only root on this node can connect to the listener. */
  readonly node?: boolean;
}

const NODE: NodeIdentity = { kind: 'node', key: 'node' };
const ANONYMOUS: AnonymousIdentity = { kind: 'anonymous', key: 'anonymous' };

/**
 * Authenticates requests in the order of the API server: a client certificate, then a bearer token, then
 * anonymous.
 *
 * While an API server is reachable, it authenticates every token itself, because the hub forwards or
 * authorizes each request with the token of the client. The hub verifies service account tokens only to
 * determine the identity, to which stored data is bound. While no API server is reachable, a token is
 * accepted if
 *
 * - it is a service account token that the hub can verify and that the API server has not rejected, or
 * - the API server has accepted exactly this token before (see TokenMemory).
 *
 * The rule for service account tokens is weaker on purpose: a pod can start offline with a token that was issued
 * earlier but never used at the API server.
 */
export class Authenticator {
  readonly #options: AuthenticatorOptions;
  readonly #keys: SigningKeys;
  readonly #tokens: TokenMemory;
  readonly #certificates: ClientCertificates;

  private constructor(options: AuthenticatorOptions, keys: SigningKeys, tokens: TokenMemory) {
    this.#options = options;
    this.#keys = keys;
    this.#tokens = tokens;
    this.#certificates = new ClientCertificates(() => options.clock.now());
  }

  static async open(options: AuthenticatorOptions): Promise<Authenticator> {
    return new Authenticator(options, await SigningKeys.open(options), await TokenMemory.open(options));
  }

  /** Keeps signing keys and token memory current until the signal is aborted. */
  async run(signal: AbortSignal): Promise<void> {
    await Promise.all([this.#keys.run(signal), this.#tokens.run(signal)]);
  }

  /** Throws 401 for an invalid credential. A client that presents one must not continue as anonymous. */
  async authenticate(request: IncomingMessage, entrance: Entrance): Promise<Identity> {
    const token = bearerToken(request.headers.authorization);
    const certificate =
      request.socket instanceof TLSSocket ? this.#certificates.identify(request.socket) : 'none';
    if (typeof certificate === 'object') return this.#certified(certificate);
    if (token !== undefined) return this.#bearer(token);
    if (certificate === 'invalid') throw unauthorized();
    if (entrance.node === true) return NODE;
    // The API server decides what anonymous clients may do. While it is unreachable, they may do nothing.
    if (!this.#options.online()) throw unauthorized();
    return ANONYMOUS;
  }

  /** Call this for every response of an API server, other than 401, to a request with this token. */
  async accepted(token: string): Promise<void> {
    this.#tokens.remember(token, true);
    // An accepted token is remembered as a whole. A rejection of its signed part is out of date now.
    if (this.#tokens.wasAccepted(signedPart(token)) === false) this.#tokens.remember(signedPart(token), true);
    await this.#keys.learn(token);
  }

  /**
   * Call this for every 401 response to a request with this token. Only tokens that the hub might accept
   * offline are remembered. A client can invent any number of other tokens, which would fill the memory.
   */
  async rejected(token: string): Promise<void> {
    if (await this.#keys.haveSigned(token)) this.#tokens.remember(signedPart(token), false);
    if (this.#tokens.wasAccepted(token) !== undefined) this.#tokens.remember(token, false);
  }

  /**
   * The hub cannot prove the possession of the client's key to the API server, so it cannot act for the
   * client. The only certificate that it can accept is that of its own node, whose credentials it has.
   */
  #certified({ subject: { commonName, organizations } }: ShownCertificate): NodeIdentity {
    const node = nodeUser(this.#options.nodeName);
    if (commonName === node && organizations.includes('system:nodes')) return NODE;
    throw new ApiError(
      403,
      'Forbidden',
      `the hub cannot forward a client certificate to the API server: it accepts only the certificate of ${node}; ` +
        `${JSON.stringify(commonName)} must use a bearer token without a client certificate`,
    );
  }

  /**
   * Verified service account tokens share the identity of their account. Every other token is an identity of
   * its own.
   */
  async #bearer(token: string): Promise<Identity> {
    const verified = await this.#keys.verify(token, () => this.#validityTimes());
    if (verified.status === 'forged' || verified.status === 'untimely') throw unauthorized();
    if (verified.status === 'verified') {
      // The account, or the pod that the token is bound to, may have been deleted. The signature does not show that.
      this.#checkOffline(signedPart(token), { unlessRejected: true });
      return { kind: 'bearer', key: serviceAccountKey(verified.claims), token };
    }
    this.#checkOffline(token, { unlessRejected: false });
    return { kind: 'bearer', key: `token:${createHash('sha256').update(token).digest('hex')}`, token };
  }

  /**
   * The times at which a token must be valid. Offline, clients cannot renew their tokens, so a token that was
   * valid at the last contact remains valid.
   */
  #validityTimes(): ValidityTimes {
    const { clock, online, lastContact } = this.#options;
    const contact = lastContact();
    // A node without a battery-backed clock may start with a time in the past. The current time cannot be
    // earlier than the last contact.
    const now = Math.max(clock.now(), contact ?? 0);
    return { now, expiry: online() ? now : (contact ?? now) };
  }

  /**
   * Online, the API server authenticates every token itself, and this check does nothing. `remembered` is the
   * string under which the token is in TokenMemory.
   */
  #checkOffline(remembered: string, { unlessRejected }: { unlessRejected: boolean }): void {
    if (this.#options.online()) return;
    if (!(this.#tokens.wasAccepted(remembered) ?? unlessRejected)) throw unauthorized();
  }
}

/**
 * A rejected token that the hub can verify is remembered without its signature. A client that has the token
 * can change an ECDSA signature, or the encoding of any signature, so that it is different but still valid.
 * The hub must reject such a variant as well.
 */
function signedPart(token: string): string {
  const dot = token.lastIndexOf('.');
  return dot < 0 ? token : token.slice(0, dot);
}
