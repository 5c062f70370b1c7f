import { createHash } from 'node:crypto';
import type { TLSSocket } from 'node:tls';
import { type Subject, subjectOf } from '@tidegate/kube/certificates';

/** Whom a verified certificate names. */
export interface ShownCertificate {
  subject: Subject;
  /** SHA-256 of the whole certificate, in hex. */
  fingerprint: string;
}

interface Shown extends ShownCertificate {
  notAfter: number;
}

/**
 * Reads who it is out of the certificate that a connection was opened with. The server must be made with the clients'
 * CA as its `ca` and `requestCert: true`; with `rejectUnauthorized: false` strangers connect too, so that everything
 * rests on `socket.authorized`: the chain ends at that CA and the certificate is meant for clients.
 */
export class ClientCertificates {
  /** A connection carries many requests; the certificate is read once. */
  readonly #shown = new WeakMap<TLSSocket, Shown | 'none' | 'invalid'>();
  readonly #now: () => number;

  constructor(now: () => number) {
    this.#now = now;
  }

  /** `none`: no certificate was shown. `invalid`: one was shown that proves nothing. */
  identify(socket: TLSSocket): ShownCertificate | 'none' | 'invalid' {
    let shown = this.#shown.get(socket);
    if (shown === undefined) {
      shown = read(socket);
      this.#shown.set(socket, shown);
    }
    if (typeof shown === 'string') return shown;
    // The handshake checked the dates; the connection may have outlived the certificate since.
    return shown.notAfter > this.#now() ? shown : 'invalid';
  }
}

function read(socket: TLSSocket): Shown | 'none' | 'invalid' {
  const certificate = socket.getPeerX509Certificate();
  if (certificate === undefined) return 'none';
  if (!socket.authorized) return 'invalid';
  const subject = subjectOf(certificate);
  // A certificate without a common name is nobody in particular.
  if (subject.commonName === '') return 'none';
  const fingerprint = createHash('sha256').update(certificate.raw).digest('hex');
  return { subject, fingerprint, notAfter: Date.parse(certificate.validTo) };
}
