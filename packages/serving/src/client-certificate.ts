import { createHash } from 'node:crypto';
import type { TLSSocket } from 'node:tls';
import { type Subject, subjectOf } from '@tidegate/kube/certificates';

/** The identity in a verified certificate. */
export interface ShownCertificate {
  subject: Subject;
  /** SHA-256 of the whole certificate, in hex. */
  fingerprint: string;
}

interface Shown extends ShownCertificate {
  notAfter: number;
}

/**
 * Reads the identity from the client certificate of a connection. Create the server with the CA of the clients as
 * `ca`, and with `requestCert: true`. With `rejectUnauthorized: false`, clients without a valid certificate can
 * connect too; then only `socket.authorized` proves that the chain ends at that CA and that the certificate is meant
 * for clients.
 */
export class ClientCertificates {
  /** One connection carries many requests; its certificate is parsed once. */
  readonly #shown = new WeakMap<TLSSocket, Shown | 'none' | 'invalid'>();
  readonly #now: () => number;

  constructor(now: () => number) {
    this.#now = now;
  }

  /** `none`: the client presented no certificate. `invalid`: it presented one that cannot be trusted. */
  identify(socket: TLSSocket): ShownCertificate | 'none' | 'invalid' {
    let shown = this.#shown.get(socket);
    if (shown === undefined) {
      shown = read(socket);
      this.#shown.set(socket, shown);
    }
    if (typeof shown === 'string') return shown;
    // The handshake checked the dates, but the certificate may have expired since the connection was opened.
    return shown.notAfter > this.#now() ? shown : 'invalid';
  }
}

function read(socket: TLSSocket): Shown | 'none' | 'invalid' {
  const certificate = socket.getPeerX509Certificate();
  if (certificate === undefined) return 'none';
  if (!socket.authorized) return 'invalid';
  const subject = subjectOf(certificate);
  // A certificate without a common name does not identify a user.
  if (subject.commonName === '') return 'none';
  const fingerprint = createHash('sha256').update(certificate.raw).digest('hex');
  return { subject, fingerprint, notAfter: Date.parse(certificate.validTo) };
}
