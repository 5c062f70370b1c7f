import { createHash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { TLSSocket } from 'node:tls';
import { type Clock, type KubeClient, type Logger, orAborted } from '@tidegate/kube';
import {
  ApiError,
  bearerToken,
  ClientCertificates,
  type ShownCertificate,
  unauthorized,
} from '@tidegate/serving';
import { type Holder, tenantOfUser } from '../shares/index.ts';
import {
  type AnonymousIdentity,
  type BearerIdentity,
  type Identity,
  type NodeIdentity,
  nodeUser,
} from './identity.ts';
import type { Memory } from './memory.ts';
import { Proofs, type ProofsOptions } from './proofs.ts';
import {
  type ServiceAccountClaims,
  serviceAccountKey,
  signedPart,
  usernameOf,
  type ValidityTimes,
} from './service-account-token.ts';
import { SigningKeys } from './signing-keys.ts';
import { TokenMemory } from './token-memory.ts';

export interface AuthenticatorOptions extends Pick<ProofsOptions, 'onEnded' | 'podIsGone'> {
  nodeName: string;
  /** A client with the credentials of the node. */
  client: KubeClient;
  memory: Memory;
  /** Whether an API server is reachable. */
  online: () => boolean;
  /** The time of the last contact with an API server, in milliseconds since the epoch; undefined if there was none. */
  lastContact: () => number | undefined;
  /** The peer of a connection. */
  peerOf: (socket: Socket) => Promise<string>;
  clock: Clock;
  log: Logger;
}

/** The listener that a request came through. */
export interface Entrance {
  /** Whether only root on this node can connect to the listener. */
  readonly node?: boolean;
}

type FindPeer = BearerIdentity['peer'];

const NODE: NodeIdentity = { kind: 'node', key: 'node' };
/** The keys of a token that the hub cannot verify, and of the identity that it is, differ in the prefix only. */
const OPAQUE_PREFIX = 'token:';
const OPAQUE_TOKEN = 'text:';
const ANONYMOUS: AnonymousIdentity = { kind: 'anonymous', key: 'anonymous' };

/**
 * Authenticates requests in the order of the API server: a client certificate, then a bearer token, then
 * anonymous.
 *
 * `authenticate` determines which client a request claims to be, with a token that can be valid. While an API server is
 * reachable, that is enough to forward the request: the API server authenticates the token itself. It is not enough to
 * show the client anything that the hub has stored: call `prove` before that.
 */
export class Authenticator {
  readonly #options: AuthenticatorOptions;
  readonly #keys: SigningKeys;
  readonly #tokens: TokenMemory;
  readonly #proofs: Proofs;
  readonly #certificates: ClientCertificates;

  private constructor(options: AuthenticatorOptions, keys: SigningKeys, tokens: TokenMemory) {
    this.#options = options;
    this.#keys = keys;
    this.#tokens = tokens;
    this.#proofs = new Proofs({
      ...options,
      tokens,
      onAudiences: (audiences) => keys.learn(audiences),
      tenantOf: (key) => this.holderOf(key).tenant,
    });
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
    if (token !== undefined) return this.#bearer(token, () => this.#options.peerOf(request.socket));
    if (certificate === 'invalid') throw unauthorized();
    if (entrance.node === true) return NODE;
    // The API server decides what anonymous clients may do. While it is unreachable, they may do nothing.
    if (!this.#options.online()) throw unauthorized();
    return ANONYMOUS;
  }

  /**
   * Resolves if the hub may show the client what it has stored for its identity: the API server currently accepts its
   * token, see Proofs. Throws 401 or 503 otherwise. The node has proved itself with its certificate or its socket.
   */
  async prove(identity: Identity, signal: AbortSignal): Promise<void> {
    if (identity.kind === 'bearer') return orAborted(this.#proofs.require(identity), signal);
    if (identity.kind === 'anonymous' && !this.#options.online()) throw unauthorized();
  }

  /** Call this when a request of the client was answered with 401. See Proofs.suspect. */
  async suspect(identity: BearerIdentity): Promise<void> {
    await this.#proofs.suspect(identity);
  }

  /** The tenant of an identity, by its key. Tokens of one user, and service accounts of one namespace, are one tenant. */
  holderOf(identityKey: string): Holder {
    const isOpaque = identityKey.startsWith(OPAQUE_PREFIX);
    const known = isOpaque
      ? this.#tokens.userOf(OPAQUE_TOKEN + identityKey.slice(OPAQUE_PREFIX.length))
      : identityKey;
    return { identity: identityKey, tenant: tenantOfUser(usernameOf(identityKey) ?? known) };
  }

  /** The tenant of a token that the hub has verified, or that the API server has accepted before. Undefined for others. */
  tenantOf(identity: BearerIdentity): string | undefined {
    return this.#proofs.isKnown(identity) ? this.holderOf(identity.key).tenant : undefined;
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
  async #bearer(token: string, peer: FindPeer): Promise<Identity> {
    let verified = await this.#verify(token);
    // A review shows whether the audience is one of the API server.
    if (verified.status === 'other audience' && (await this.#isAccepted(token, peer)))
      verified = await this.#verify(token);
    if (verified.status === 'forged' || verified.status === 'untimely') throw unauthorized();
    const identity =
      verified.status === 'verified'
        ? accountIdentity(token, peer, verified.claims)
        : opaqueIdentity(token, peer);
    if (!this.#options.online()) await this.#proofs.requireKnown(identity);
    return identity;
  }

  #verify(token: string): ReturnType<SigningKeys['verify']> {
    return this.#keys.verify(token, () => this.#validityTimes());
  }

  /** False if the API server cannot be asked. Throws 401 if it rejects the token. */
  async #isAccepted(token: string, peer: FindPeer): Promise<boolean> {
    if (!this.#options.online()) return false;
    const review = await this.#proofs.review(opaqueIdentity(token, peer)).catch((err: unknown) => {
      this.#options.log.warn({ err }, 'cannot review a token for an unknown audience');
      return undefined;
    });
    if (review?.authenticated === false) throw unauthorized();
    return review !== undefined;
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
}

const accountIdentity = (token: string, peer: FindPeer, claims: ServiceAccountClaims): BearerIdentity => ({
  kind: 'bearer',
  key: serviceAccountKey(claims),
  token,
  tokenKey: `signed:${hash(signedPart(token))}`,
  claims,
  peer,
});

const opaqueIdentity = (token: string, peer: FindPeer): BearerIdentity => ({
  kind: 'bearer',
  key: OPAQUE_PREFIX + hash(token),
  token,
  tokenKey: OPAQUE_TOKEN + hash(token),
  peer,
});

const hash = (text: string): string => createHash('sha256').update(text).digest('hex');
