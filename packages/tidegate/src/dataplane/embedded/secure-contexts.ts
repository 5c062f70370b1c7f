import { createSecureContext, type SecureContext } from 'node:tls';
import type { Logger } from '@tidegate/kube';
import { certificateFor, type RouteTable, requestHost } from '../../ingress/match/index.ts';
import type { Certificate } from '../../ingress/model.ts';

/** A context takes about 20 KB, and a millisecond to create. */
const MAX_CACHED = 1000;

/** A cache of TLS contexts. */
export class SecureContexts {
  readonly #log: Logger;
  /** By fingerprint of the certificate; the least recently used comes first. */
  readonly #kept = new Map<string, SecureContext>();

  constructor(log: Logger) {
    this.#log = log;
  }

  /** The context for this server name, which may be empty. Undefined: the default certificate is used. */
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
    if (this.#kept.size > MAX_CACHED && oldest !== undefined) this.#kept.delete(oldest);
    return context;
  }

  #create({ certificate, key, secret, host }: Certificate): SecureContext | undefined {
    try {
      return createSecureContext({ cert: certificate, key });
    } catch (error) {
      this.#log.warn(
        { err: error, secret, host },
        'cannot use a certificate; presenting the default certificate instead',
      );
      return undefined;
    }
  }
}
