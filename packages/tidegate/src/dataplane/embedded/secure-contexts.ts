import { createHash } from 'node:crypto';
import { createSecureContext, type SecureContext } from 'node:tls';
import type { Logger } from '@tidegate/kube';
import type { KeyPair } from '@tidegate/kube/certificates';
import {
  certificateFor,
  clientCertificateFor,
  type RouteTable,
  requestHost,
} from '../../ingress/match/index.ts';
import type { Authorities, Certificate } from '../../ingress/model.ts';
import type { Asked } from './handshakes.ts';

/** A context takes about 20 KB, and a millisecond to create. */
const MAX_CACHED = 1000;

/** A cache of TLS contexts. */
export class SecureContexts {
  readonly #log: Logger;
  /** By fingerprint of the certificate, or of the certificate and authorities of clients; the least recently used comes first. */
  readonly #kept = new Map<string, SecureContext>();
  readonly #digests = new WeakMap<Authorities, string>();

  constructor(log: Logger) {
    this.#log = log;
  }

  /** The context for this server name, which may be empty. Undefined: the default certificate is used. */
  find(table: RouteTable, serverName: string): SecureContext | undefined {
    const certificate = certificateFor(table, requestHost(serverName) ?? '');
    return certificate && this.#contextOf(certificate);
  }

  /** How clients of the host are asked for certificates; undefined if they are not. `own` is the certificate of the router. */
  asking(table: RouteTable, serverName: string, own: KeyPair): Asked | undefined {
    const host = requestHost(serverName) ?? '';
    const wanted = clientCertificateFor(table, host);
    const authorities = wanted && table.credentials.get(wanted.credentials)?.authorities;
    // Without authorities, all requests get 503.
    if (wanted === undefined || authorities === undefined) return undefined;
    const context = this.#askingContext(certificateFor(table, host) ?? own, authorities);
    return context && { context, client: { credentials: wanted.credentials, authorities } };
  }

  #askingContext({ certificate, key }: KeyPair, authorities: Authorities): SecureContext | undefined {
    const digest = digestOf([certificate, key, this.#digestOf(authorities)]);
    const context = this.#kept.get(digest) ?? this.#createAsking({ certificate, key }, authorities);
    return context && this.#keep(digest, context);
  }

  /** A Secret can have a megabyte of them, and each handshake needs the digest. */
  #digestOf(authorities: Authorities): string {
    const digest = this.#digests.get(authorities) ?? digestOf(authorities);
    this.#digests.set(authorities, digest);
    return digest;
  }

  #createAsking(
    { certificate, key }: KeyPair,
    { certificates, revoked }: Authorities,
  ): SecureContext | undefined {
    try {
      return createSecureContext({
        ...{ cert: certificate, key, ca: [...certificates] },
        ...(revoked.length > 0 && { crl: [...revoked] }),
      });
    } catch (error) {
      this.#log.warn(
        { err: error },
        'cannot ask for client certificates; requests that need one are refused',
      );
      return undefined;
    }
  }

  #contextOf(certificate: Certificate): SecureContext | undefined {
    const { fingerprint } = certificate;
    const context = this.#kept.get(fingerprint) ?? this.#create(certificate);
    return context && this.#keep(fingerprint, context);
  }

  #keep(fingerprint: string, context: SecureContext): SecureContext {
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

const digestOf = (value: unknown): string =>
  createHash('sha256').update(JSON.stringify(value)).digest('base64');
