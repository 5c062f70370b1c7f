/** Making X.509 certificates, and reading from them what node:crypto does not give out exactly. */
import { createHash, createPublicKey, type KeyObject, randomBytes, sign, X509Certificate } from 'node:crypto';
import { isIP, SocketAddress } from 'node:net';
import * as der from './der.ts';

const OID = {
  commonName: '2.5.4.3',
  organization: '2.5.4.10',
  ecdsaWithSha256: '1.2.840.10045.4.3.2',
  subjectKeyIdentifier: '2.5.29.14',
  keyUsage: '2.5.29.15',
  subjectAltName: '2.5.29.17',
  basicConstraints: '2.5.29.19',
  authorityKeyIdentifier: '2.5.29.35',
  extKeyUsage: '2.5.29.37',
  serverAuth: '1.3.6.1.5.5.7.3.1',
  clientAuth: '1.3.6.1.5.5.7.3.2',
} as const;

export interface Subject {
  commonName: string;
  organizations: string[];
}

/** A certificate and the private key that belongs to it, both PEM. */
export interface KeyPair {
  certificate: string;
  key: string;
}

export type ExtendedUsage = 'serverAuth' | 'clientAuth';

export interface CertificateRequestInfo {
  /** Raw when it comes from a signing request and is not ours to reword. */
  subject: Subject | Buffer;
  publicKey: KeyObject;
  notBefore: Date;
  notAfter: Date;
  usages: ExtendedUsage[];
  /** Default: digitalSignature. */
  keyUsages?: { digitalSignature: boolean; keyEncipherment: boolean };
  /** DNS names and IP addresses; or the whole subjectAltName, raw. */
  altNames?: string[] | Buffer;
}

/** Who signs: the subject's name and the key. `certificate` is PEM. */
export interface Issuer {
  certificate: string;
  privateKey: KeyObject;
}

const name = (subject: Subject): Buffer =>
  der.sequence(
    ...subject.organizations.map((o) => der.set(der.sequence(der.oid(OID.organization), der.utf8String(o)))),
    der.set(der.sequence(der.oid(OID.commonName), der.utf8String(subject.commonName))),
  );

const spki = (key: KeyObject): Buffer => key.export({ type: 'spki', format: 'der' });

/** RFC 5280, 4.2.1.2: the SHA-1 of the key's bits, without the algorithm around them. */
const keyIdentifier = (key: KeyObject): Buffer =>
  createHash('sha1')
    .update(der.readDer(spki(key)).child(1).content.subarray(1))
    .digest();

function extension(id: string, value: Buffer, critical = false): Buffer {
  return der.sequence(der.oid(id), ...(critical ? [der.TRUE] : []), der.octetString(value));
}

function addressBytes(address: string): Buffer {
  if (isIP(address) === 4) return Buffer.from(address.split('.').map(Number));
  // The canonical form has at most one '::'; the rest are groups of hex digits.
  const canonical = new SocketAddress({ address, family: 'ipv6' }).address;
  const [head = '', tail] = canonical.split('::');
  const groups = (part: string): string[] => (part === '' ? [] : part.split(':'));
  const zeros = tail === undefined ? 0 : 8 - groups(head).length - groups(tail).length;
  const all = [...groups(head), ...Array<string>(zeros).fill('0'), ...groups(tail ?? '')];
  return Buffer.from(all.map((group) => group.padStart(4, '0')).join(''), 'hex');
}

const altName = (host: string): Buffer =>
  isIP(host) === 0 ? der.implicit(2, Buffer.from(host)) : der.implicit(7, addressBytes(host));

function signed(tbs: Buffer, privateKey: KeyObject): string {
  const algorithm = der.sequence(der.oid(OID.ecdsaWithSha256));
  const certificate = der.sequence(tbs, algorithm, der.bitString(sign('sha256', tbs, privateKey)));
  return pem('CERTIFICATE', certificate);
}

export function pem(label: string, bytes: Buffer): string {
  const lines = bytes.toString('base64').match(/.{1,64}/g) ?? [];
  return `-----BEGIN ${label}-----\n${lines.join('\n')}\n-----END ${label}-----\n`;
}

interface ToBeSigned {
  issuer: Buffer;
  subject: Buffer;
  publicKey: KeyObject;
  notBefore: Date;
  notAfter: Date;
  extensions: Buffer[];
}

function toBeSigned(parts: ToBeSigned): Buffer {
  const serial = randomBytes(16);
  // Positive, and never with a leading zero byte, which DER forbids.
  serial[0] = (serial[0]! & 0x7f) | 0x40;
  return der.sequence(
    der.explicit(0, der.integer(2)),
    der.integer(serial),
    der.sequence(der.oid(OID.ecdsaWithSha256)),
    parts.issuer,
    der.sequence(der.time(parts.notBefore), der.time(parts.notAfter)),
    parts.subject,
    spki(parts.publicKey),
    der.explicit(3, der.sequence(...parts.extensions)),
  );
}

export function selfSignedCa(
  subject: Subject,
  privateKey: KeyObject,
  validity: { notBefore: Date; notAfter: Date },
): string {
  const publicKey = createPublicKey(privateKey);
  const tbs = toBeSigned({
    issuer: name(subject),
    subject: name(subject),
    publicKey,
    ...validity,
    extensions: [
      extension(OID.basicConstraints, der.sequence(der.TRUE), true),
      // digitalSignature, keyCertSign, cRLSign
      extension(OID.keyUsage, der.bitString(Buffer.from([0b1000_0110]), 1), true),
      extension(OID.subjectKeyIdentifier, der.octetString(keyIdentifier(publicKey))),
    ],
  });
  return signed(tbs, privateKey);
}

export function issueCertificate(request: CertificateRequestInfo, issuer: Issuer): string {
  const ca = new X509Certificate(issuer.certificate);
  const { subject, publicKey, notBefore, notAfter } = request;
  const tbs = toBeSigned({
    issuer: subjectElement(ca.raw).raw,
    subject: Buffer.isBuffer(subject) ? subject : name(subject),
    publicKey,
    notBefore,
    notAfter,
    extensions: [
      extension(OID.basicConstraints, der.sequence(), true),
      ...keyUsage(request.keyUsages ?? { digitalSignature: true, keyEncipherment: false }),
      extension(OID.extKeyUsage, der.sequence(...request.usages.map((usage) => der.oid(OID[usage])))),
      extension(OID.subjectKeyIdentifier, der.octetString(keyIdentifier(publicKey))),
      extension(OID.authorityKeyIdentifier, der.sequence(der.implicit(0, keyIdentifier(ca.publicKey)))),
      ...subjectAltName(request.altNames ?? []),
    ],
  });
  return signed(tbs, issuer.privateKey);
}

/** digitalSignature is bit 0, keyEncipherment bit 2, counted from the left. */
function keyUsage({
  digitalSignature,
  keyEncipherment,
}: {
  digitalSignature: boolean;
  keyEncipherment: boolean;
}): Buffer[] {
  if (!digitalSignature && !keyEncipherment) return [];
  const bits = (digitalSignature ? 0b1000_0000 : 0) | (keyEncipherment ? 0b0010_0000 : 0);
  return [extension(OID.keyUsage, der.bitString(Buffer.from([bits]), keyEncipherment ? 5 : 7), true)];
}

function subjectAltName(names: string[] | Buffer): Buffer[] {
  if (names.length === 0) return [];
  const value = Buffer.isBuffer(names) ? names : der.sequence(...names.map(altName));
  return [extension(OID.subjectAltName, value)];
}

/** version, serialNumber, signature, issuer, validity, subject: the sixth element of a v3 certificate. */
const subjectElement = (certificate: Buffer): der.DerElement => der.readDer(certificate).child(0).child(5);

/**
 * The subject out of the DER itself: the printed form that node:crypto offers separates attributes by line breaks,
 * which a name may contain.
 */
export const subjectOf = (certificate: X509Certificate): Subject =>
  parseName(subjectElement(certificate.raw));

export function parseName(element: der.DerElement): Subject {
  const subject: Subject = { commonName: '', organizations: [] };
  const commonName = der.oid(OID.commonName);
  const organization = der.oid(OID.organization);
  for (const relative of element.children()) {
    for (const attribute of relative.children()) {
      const [type, value] = attribute.children();
      if (type === undefined || value === undefined) continue;
      if (type.is(commonName)) subject.commonName = value.text();
      else if (type.is(organization)) subject.organizations.push(value.text());
    }
  }
  return subject;
}
