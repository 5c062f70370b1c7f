import { X509Certificate } from 'node:crypto';
import type { TLSSocket } from 'node:tls';
import { type RouteTable, requestHost } from '../../ingress/match/index.ts';
import type { Authorities } from '../../ingress/model.ts';
import { type ClientCertificate, fillUrl, subjectMatches } from '../../ingress/policy/index.ts';
import { TOLERATED_ERRORS, verifyText } from '../client-verification.ts';
import type { Denial } from './authenticate.ts';
import type { Exchange } from './exchange.ts';
import type { FlatHeaders } from './flat-headers.ts';

/** What is known about the client of a connection whose handshake has asked for a certificate. */
export interface TlsClient {
  /** The authorities that the certificate was compared with, and the ID of their Credentials. */
  readonly credentials: string;
  readonly authorities: Authorities;
  /** Undefined if the client has shown none. */
  readonly certificate?: ShownCertificate;
}

interface ShownCertificate {
  /** The code of OpenSSL; undefined if the certificate is valid. */
  readonly error?: string;
  /** How many authorities are between the certificate and the root. */
  readonly between: number;
  readonly subject: string;
  readonly issuer: string;
  readonly pem: string;
  readonly notAfter: number;
}

const CLIENT = Symbol('the client of a TLS connection');

type Marked = TLSSocket & { [CLIENT]?: TlsClient };

/** Notes the result of a handshake. HTTP/2 hides the socket behind a proxy, which passes properties on. */
export function noteClient(socket: TLSSocket, asked: Omit<TlsClient, 'certificate'>): void {
  const certificate = shownBy(socket, asked.authorities);
  (socket as Marked)[CLIENT] = { ...asked, ...(certificate && { certificate }) };
}

function shownBy(socket: TLSSocket, authorities: Authorities): ShownCertificate | undefined {
  const shown = socket.getPeerX509Certificate();
  if (shown === undefined) return undefined;
  // Node.js has a code here, but its types have an error.
  const error = socket.authorized ? undefined : String(socket.authorizationError ?? 'UNSPECIFIED');
  return {
    ...(error !== undefined && { error }),
    // If there is an error, nothing depends on it, and a client cannot make the router compare what it has invented.
    between: error === undefined ? betweenOf(shown, sentWith(shown), authorities) : Number.POSITIVE_INFINITY,
    subject: nameOf(shown.subject),
    issuer: nameOf(shown.issuer),
    pem: shown.toString(),
    notAfter: Date.parse(shown.validTo),
  };
}

/** Certificates that the client has sent besides its own. */
function sentWith(leaf: X509Certificate): X509Certificate[] {
  const sent: X509Certificate[] = [];
  let at = leaf.issuerCertificate;
  for (; at !== undefined && sent.length < MOST_SENT; at = at.issuerCertificate) sent.push(at);
  return sent;
}

/** OpenSSL accepts no longer chain. */
const MOST_SENT = 100;

const trusted = new WeakMap<Authorities, readonly X509Certificate[]>();

function trustedOf(authorities: Authorities): readonly X509Certificate[] {
  const found = trusted.get(authorities) ?? authorities.certificates.map((pem) => new X509Certificate(pem));
  trusted.set(authorities, found);
  return found;
}

/**
 * The number of authorities between a valid certificate and the root, which has issued itself. Node.js cannot limit it. As in
 * OpenSSL, trusted certificates are used before those of the client. A client can send certificates with the names of others, so
 * signatures count, and only a trusted root ends the chain.
 */
function betweenOf(
  leaf: X509Certificate,
  sent: readonly X509Certificate[],
  authorities: Authorities,
): number {
  const roots = trustedOf(authorities);
  const candidates = [...roots, ...sent];
  let at = leaf;
  for (let count = 0; count <= candidates.length; count++) {
    const issuer = candidates.find((each) => hasIssued(each, at));
    if (issuer === undefined) break;
    if (roots.includes(issuer) && issuer.checkIssued(issuer)) return count;
    at = issuer;
  }
  return Number.POSITIVE_INFINITY;
}

/** `checkIssued` compares names and the IDs of keys only. */
function hasIssued(issuer: X509Certificate, certificate: X509Certificate): boolean {
  if (!certificate.checkIssued(issuer)) return false;
  try {
    return certificate.verify(issuer.publicKey);
  } catch {
    // OpenSSL does not know the type of the key, so the certificate is not a part of a valid chain.
    return false;
  }
}

/**
 * A name in the format of RFC 2253, which nginx uses. Node.js has a line for each part, in the opposite order. It has none for
 * an empty name, or one that it cannot read, which its types do not show.
 */
const nameOf = (lines: string | undefined): string =>
  (lines ?? '')
    .split('\n')
    .reverse()
    .map((line) => line.replaceAll(' + ', '+'))
    .join(',')
    .replace(/[^\x20-\x7e]+/g, (text) =>
      [...Buffer.from(text)].map((byte) => `\\${byte.toString(16).toUpperCase().padStart(2, '0')}`).join(''),
    );

/**
 * Checks the certificate of a client. `client_certificate.lua` does the same for nginx. Undefined if the client is served; its
 * exchange has the headers for the endpoint then.
 */
export function checkCertificate(
  policy: ClientCertificate,
  exchange: Exchange,
  { table, name }: { table: RouteTable; name: string },
): Denial | undefined {
  const known = table.credentials.get(policy.credentials)?.authorities;
  if (known === undefined) return refused(503);
  const isAsked = policy.verify !== 'off' && exchange.encrypted;
  const client = isAsked ? (exchange.request.socket as Marked)[CLIENT] : undefined;
  // The handshake was for another host, or with other authorities than now: its result means nothing for this request.
  if (isAsked && !isFor(exchange, client, { ...policy, known, name })) return refused(421);
  const shown = client?.certificate;
  const error = shown && errorOf(shown, policy.depth);
  const isTolerated =
    error === undefined || (policy.verify === 'optionalNoCa' && TOLERATED_ERRORS.has(error));
  if (policy.verify === 'on' && !exchange.encrypted) return refused(403);
  if ((policy.verify === 'on' && shown === undefined) || !isTolerated) {
    const { secure, host: authority = '', target } = exchange;
    const page = policy.errorPage && fillUrl(policy.errorPage, { secure, name, authority, target });
    return page === undefined ? refused(400) : { status: 302, headers: ['Location', page] };
  }
  if (policy.subject !== undefined && !subjectMatches(policy.subject, shown?.subject ?? ''))
    return refused(403);
  exchange.certificateHeaders = headersOf(shown, error, policy.passes === true);
  return undefined;
}

const refused = (status: number): Denial => ({ status, headers: [] });

function isFor(
  { request }: Exchange,
  client: TlsClient | undefined,
  { credentials, known, name }: { credentials: string; known: Authorities; name: string },
): boolean {
  const { servername } = request.socket as TLSSocket & { servername?: string | false };
  if (typeof servername !== 'string' || requestHost(servername) !== name) return false;
  return (
    client !== undefined &&
    client.credentials === credentials &&
    // The table keeps objects that have not changed, except after a full state.
    (client.authorities === known || JSON.stringify(client.authorities) === JSON.stringify(known))
  );
}

/** A connection can be open for longer than the certificate is valid. */
function errorOf({ error, between, notAfter }: ShownCertificate, depth: number): string | undefined {
  if (error !== undefined) return error;
  if (between > depth) return 'CERT_CHAIN_TOO_LONG';
  return notAfter < Date.now() ? 'CERT_HAS_EXPIRED' : undefined;
}

/** As nginx does, a header without a value is not sent. */
function headersOf(
  shown: ShownCertificate | undefined,
  error: string | undefined,
  passes: boolean,
): FlatHeaders {
  if (shown === undefined) return ['ssl-client-verify', 'NONE'];
  return [
    ...(passes ? ['ssl-client-cert', encodeURIComponent(shown.pem)] : []),
    ...['ssl-client-verify', verifyText(error)],
    ...(shown.subject === '' ? [] : ['ssl-client-subject-dn', shown.subject]),
    ...(shown.issuer === '' ? [] : ['ssl-client-issuer-dn', shown.issuer]),
  ];
}
