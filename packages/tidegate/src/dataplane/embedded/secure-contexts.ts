import { createSecureContext, type SecureContext } from 'node:tls';
import type { Logger } from '@tidegate/kube';
import { certificateFor, type RouteTable, requestHost } from '../../ingress/match/index.ts';
import type { Certificate } from '../../ingress/model.ts';

/** What one of them costs is some 20 KB and a millisecond. */
const MOST_KEPT = 1000;

/** Certificates made ready for handshakes. */
export class SecureContexts {
  readonly #log: Logger;
  /** By fingerprint, those that were asked for last at the end. */
  readonly #kept = new Map<string, SecureContext>();

  constructor(log: Logger) {
    this.#log = log;
  }

  /** For a client that asks for this name, or for none. Undefined: the router's own certificate has to do. */
  find(table: RouteTable, serverName: string): SecureContext | undefined {
    const certificate = certificateFor(table, requestHost(serverName) ?? '');
    return certificate && this.#contextOf(certificate);
  }

  #contextOf(certificate: Certificate): SecureContext | undefined {
    const { fingerprint } = certificate;
    const context = this.#kept.get(fingerprint) ?? this.#create(certificate);
    if (context === undefined) return undefined;
    this.#kept.delete(fingerprint);
    this.#kept.set(fingerprint, context);
    const [oldest] = this.#kept.keys();
    if (this.#kept.size > MOST_KEPT && oldest !== undefined) this.#kept.delete(oldest);
    return context;
  }

  #create({ certificate, key, secret, host }: Certificate): SecureContext | undefined {
    try {
      return createSecureContext({ cert: certificate, key });
    } catch (error) {
      this.#log.warn({ err: error, secret, host }, 'a certificate can not be used; the default one is shown');
      return undefined;
    }
  }
}
