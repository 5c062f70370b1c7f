/** Authenticates a request: by client certificate, then by bearer token, otherwise as anonymous. */
import type { IncomingHttpHeaders } from 'node:http';
import type { TLSSocket } from 'node:tls';
import { bearerToken, ClientCertificates, type ShownCertificate, unauthorized } from '@tidegate/serving';
import type { UserInfo } from '../resources/types.ts';
import { ANONYMOUS_USER, authenticated, EXTRA } from './identity.ts';
import type { ServiceAccountTokens, TokenReviewResult } from './tokens.ts';

export interface AuthenticatorOptions {
  tokens: ServiceAccountTokens;
  /** Static bearer tokens and their users. */
  staticTokens?: ReadonlyMap<string, UserInfo>;
  now: () => Date;
}

/** Identifies the user of each request. It does not decide what the user may do. */
export class Authenticator {
  readonly #tokens: ServiceAccountTokens;
  readonly #staticTokens: ReadonlyMap<string, UserInfo>;
  readonly #certificates: ClientCertificates;

  constructor(options: AuthenticatorOptions) {
    this.#tokens = options.tokens;
    this.#staticTokens = options.staticTokens ?? new Map();
    this.#certificates = new ClientCertificates(() => options.now().getTime());
  }

  /**
   * Throws a 401 error if the request has invalid credentials. Treating such a client as anonymous would hide the
   * problem behind 403 errors.
   */
  authenticate(socket: TLSSocket, headers: IncomingHttpHeaders): UserInfo {
    const certificate = this.#certificates.identify(socket);
    if (typeof certificate === 'object') return authenticated(userOf(certificate));
    const token = bearerToken(headers.authorization);
    if (token !== undefined) {
      const result = this.verifyToken(token);
      if ('user' in result) return result.user;
      throw unauthorized();
    }
    if (certificate === 'invalid') throw unauthorized();
    return ANONYMOUS_USER;
  }

  /** Verifies a token for a TokenReview. */
  verifyToken(token: string, audiences?: string[]): TokenReviewResult {
    const fixed = this.#staticTokens.get(token);
    if (fixed !== undefined) {
      return { user: authenticated(fixed), audiences: audiences ?? this.#tokens.audiences };
    }
    const result = this.#tokens.verify(token, audiences);
    if (result === undefined) return { error: 'invalid bearer token' };
    return 'user' in result ? result : { error: `[invalid bearer token, ${result.error}]` };
  }
}

const userOf = ({ subject, fingerprint }: ShownCertificate): UserInfo => ({
  username: subject.commonName,
  groups: subject.organizations,
  extra: { [EXTRA.credentialId]: [`X509SHA256=${fingerprint}`] },
});
