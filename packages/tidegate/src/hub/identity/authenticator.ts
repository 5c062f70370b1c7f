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
  /** With the node's credentials. */
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
  /** Only root on this node can reach it. */
  readonly node?: boolean;
}

const NODE: NodeIdentity = { kind: 'node', key: 'node' };
const ANONYMOUS: AnonymousIdentity = { kind: 'anonymous', key: 'anonymous' };

/**
 * Authenticates requests in the order of the API server: a client certificate, then a bearer token, then anonymous.
 *
 * While an API server is reachable, it judges every token itself when the request is forwarded or authorized. The hub
 * verifies service account tokens only to know which identity they belong to. While none is reachable, a token is
 * accepted if
 * - it is a service account token that the hub can verify and that the API server has not rejected, or
 * - the API server has accepted this very token before (see TokenMemory).
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

  /** Call this for every response of an API server other than 401 to a request with this token. */
  async accepted(token: string): Promise<void> {
    this.#tokens.remember(token, true);
    if (this.#tokens.wasAccepted(signedPart(token)) === false) this.#tokens.remember(signedPart(token), true);
    await this.#keys.learn(token);
  }

  /**
   * Call this for every 401. Only tokens that the hub might accept offline are remembered: anyone can make up others,
   * and fill the memory with them.
   */
  async rejected(token: string): Promise<void> {
    if (await this.#keys.haveSigned(token)) this.#tokens.remember(signedPart(token), false);
    if (this.#tokens.wasAccepted(token) !== undefined) this.#tokens.remember(token, false);
  }

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

  async #bearer(token: string): Promise<Identity> {
    const judged = await this.#keys.judge(token, () => this.#validityTimes());
    if (judged.verdict === 'forged' || judged.verdict === 'untimely') throw unauthorized();
    if (judged.verdict === 'verified') {
      // The account, or the pod that the token is bound to, may have been deleted. The signature does not show that.
      this.#checkOffline(signedPart(token), { unlessRejected: true });
      return { kind: 'bearer', key: serviceAccountKey(judged.claims), token };
    }
    this.#checkOffline(token, { unlessRejected: false });
    return { kind: 'bearer', key: `token:${createHash('sha256').update(token).digest('hex')}`, token };
  }

  /** Offline, clients cannot renew their tokens. A token that has expired since the last contact remains valid. */
  #validityTimes(): ValidityTimes {
    const { clock, online, lastContact } = this.#options;
    const contact = lastContact();
    // A node may have lost the time while it was switched off. It cannot be earlier than the last contact.
    const now = Math.max(clock.now(), contact ?? 0);
    return { now, expiry: online() ? now : (contact ?? now) };
  }

  /** `remembered` is what the token is remembered by. Online, the API server judges every token itself. */
  #checkOffline(remembered: string, { unlessRejected }: { unlessRejected: boolean }): void {
    if (this.#options.online()) return;
    if (!(this.#tokens.wasAccepted(remembered) ?? unlessRejected)) throw unauthorized();
  }
}

/**
 * The rejection of a token that the hub can verify is remembered without its signature. Anyone who has the token can
 * change an ECDSA signature, or its encoding, so that it remains valid. Such a variant must be rejected too.
 */
function signedPart(token: string): string {
  const dot = token.lastIndexOf('.');
  return dot < 0 ? token : token.slice(0, dot);
}
