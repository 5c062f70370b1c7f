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
import { isEarly, isExpired, type ServiceAccountClaims, serviceAccountKey } from './service-account-token.ts';
import { SigningKeys } from './signing-keys.ts';
import { TokenMemory } from './token-memory.ts';

export interface AuthenticatorOptions {
  nodeName: string;
  /** With the node's credentials. */
  client: KubeClient;
  memory: Memory;
  /** Whether an API server can be asked now. */
  online: () => boolean;
  /** When one was last heard, in milliseconds since the epoch; undefined when never. */
  lastContact: () => number | undefined;
  clock: Clock;
  log: Logger;
}

/** Where a request came in. */
export interface Entrance {
  /** Only this node's root could get there. */
  readonly node?: boolean;
}

const NODE: NodeIdentity = { kind: 'node', key: 'node' };
const ANONYMOUS: AnonymousIdentity = { kind: 'anonymous', key: 'anonymous' };

/**
 * Who asks? A certificate first, as the API server does it, then a token, then nobody in particular. Nothing that a
 * caller says of itself counts, its User-Agent least of all.
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

  /** Keeps what tokens are judged by current, until the signal is aborted. */
  async run(signal: AbortSignal): Promise<void> {
    await Promise.all([this.#keys.run(signal), this.#tokens.run(signal)]);
  }

  /** Throws 401 when something was shown that proves nothing: who meant to be somebody must not go on as nobody. */
  async authenticate(request: IncomingMessage, entrance: Entrance): Promise<Identity> {
    const token = bearerToken(request.headers.authorization);
    const certificate =
      request.socket instanceof TLSSocket ? this.#certificates.identify(request.socket) : 'none';
    if (typeof certificate === 'object') return this.#certified(certificate);
    if (token !== undefined) return this.#bearer(token);
    if (certificate === 'invalid') throw unauthorized();
    if (entrance.node === true) return NODE;
    // The API server decides what nobody in particular may see; in its absence that is nothing.
    if (!this.#options.online()) throw unauthorized();
    return ANONYMOUS;
  }

  /** To be told of every answer of an API server other than 401 to a request with this token. */
  accepted(token: string): void {
    this.#keys.learn(token);
    this.#tokens.remember(token, true);
  }

  /** To be told of every 401. What would not be believed anyhow is not remembered: anybody can make such tokens. */
  rejected(token: string): void {
    if (this.#tokens.wasAccepted(token) !== undefined || this.#keys.haveSigned(token))
      this.#tokens.remember(token, false);
  }

  #certified({ subject: { commonName, organizations } }: ShownCertificate): NodeIdentity {
    const node = nodeUser(this.#options.nodeName);
    if (commonName === node && organizations.includes('system:nodes')) return NODE;
    throw new ApiError(
      403,
      'Forbidden',
      `a client certificate can not be passed on to the API server: this hub takes that of ${node} ` +
        `only, and ${JSON.stringify(commonName)} must use a bearer token without a certificate`,
    );
  }

  async #bearer(token: string): Promise<Identity> {
    const judged = await this.#keys.judge(token);
    if (judged.verdict === 'forged') throw unauthorized();
    if (judged.verdict === 'verified') {
      this.#checkTime(judged.claims);
      // The account may be gone, or the pod that the token was bound to: the signature does not tell.
      this.#checkOffline(token, { unlessRefused: true });
      return { kind: 'bearer', key: serviceAccountKey(judged.claims), token };
    }
    this.#checkOffline(token, { unlessRefused: false });
    return { kind: 'bearer', key: `token:${createHash('sha256').update(token).digest('hex')}`, token };
  }

  /** While the link is away nobody could get a new token: one that expired since is still good. */
  #checkTime(claims: ServiceAccountClaims): void {
    const { clock, online, lastContact } = this.#options;
    const contact = lastContact();
    // A node that was switched off may have lost the time; earlier than that it can not be.
    const now = Math.max(clock.now(), contact ?? 0);
    if (isEarly(claims, now) || isExpired(claims, online() ? now : (contact ?? now))) throw unauthorized();
  }

  /** Online the API server judges every token itself. */
  #checkOffline(token: string, { unlessRefused }: { unlessRefused: boolean }): void {
    if (this.#options.online()) return;
    if (!(this.#tokens.wasAccepted(token) ?? unlessRefused)) throw unauthorized();
  }
}
