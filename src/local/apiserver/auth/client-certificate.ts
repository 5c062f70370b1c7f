import { createHash } from 'node:crypto';
import type { TLSSocket } from 'node:tls';
import type { UserInfo } from '../resources/types.ts';
import { EXTRA } from './identity.ts';
import { subjectOf } from './subject.ts';

/** `none`: no certificate was shown. `invalid`: one was shown that proves nothing. */
export type CertificateIdentity = { user: UserInfo } | 'none' | 'invalid';

interface Shown {
  user: UserInfo;
  notAfter: number;
}

/**
 * Reads the user out of the certificate that a connection was opened with. The server must be made with our CA as
 * its `ca` and `requestCert: true`; with `rejectUnauthorized: false` strangers connect too, so that everything rests on
 * `socket.authorized`: the chain ends at our CA and the certificate is meant for clients.
 */
export class ClientCertificates {
  /** A connection carries many requests; the certificate is read once. */
  readonly #shown = new WeakMap<TLSSocket, Shown | 'none' | 'invalid'>();
  readonly #now: () => Date;

  constructor(now: () => Date) {
    this.#now = now;
  }

  identify(socket: TLSSocket): CertificateIdentity {
    let shown = this.#shown.get(socket);
    if (shown === undefined) {
      shown = read(socket);
      this.#shown.set(socket, shown);
    }
    if (typeof shown === 'string') return shown;
    // The handshake checked the dates; the connection may have outlived the certificate since.
    return shown.notAfter > this.#now().getTime() ? { user: shown.user } : 'invalid';
  }
}

function read(socket: TLSSocket): Shown | 'none' | 'invalid' {
  const certificate = socket.getPeerX509Certificate();
  if (certificate === undefined) return 'none';
  if (!socket.authorized) return 'invalid';
  const { commonName, organizations } = subjectOf(certificate);
  // A certificate without a common name is nobody in particular.
  if (commonName === '') return 'none';
  const digest = createHash('sha256').update(certificate.raw).digest('hex');
  return {
    user: {
      username: commonName,
      groups: organizations,
      extra: { [EXTRA.credentialId]: [`X509SHA256=${digest}`] },
    },
    notAfter: Date.parse(certificate.validTo),
  };
}
