/** Creates X.509 certificates. */
import { createHash, createPublicKey, type KeyObject, randomBytes, sign, X509Certificate } from 'node:crypto';
import * as der from './der.ts';
import {
  ECDSA_WITH_SHA256,
  encodeAltNames,
  encodeExtension,
  encodeName,
  encodePublicKey,
  pem,
  SUBJECT_ALT_NAME,
  type Subject,
} from './x509.ts';

const OID = {
  subjectKeyIdentifier: '2.5.29.14',
  keyUsage: '2.5.29.15',
  basicConstraints: '2.5.29.19',
  authorityKeyIdentifier: '2.5.29.35',
  extKeyUsage: '2.5.29.37',
  serverAuth: '1.3.6.1.5.5.7.3.1',
  clientAuth: '1.3.6.1.5.5.7.3.2',
} as const;

/** A certificate and its private key, both as PEM. */
export interface KeyPair {
  certificate: string;
  key: string;
}

/** What the certificate may be used for. */
export type ExtendedUsage = 'serverAuth' | 'clientAuth';

/** The content of a certificate to issue. */
export interface CertificateRequestInfo {
  /** Raw bytes if it comes from a signing request, to be copied unchanged. */
  subject: Subject | Buffer;
  publicKey: KeyObject;
  notBefore: Date;
  notAfter: Date;
  usages: ExtendedUsage[];
  /** Default: digitalSignature. */
  keyUsages?: { digitalSignature: boolean; keyEncipherment: boolean };
  /** DNS names and IP addresses; or a complete subjectAltName as raw bytes. */
  altNames?: string[] | Buffer;
}

/** The signer: its name and key. `certificate` is PEM. */
export interface Issuer {
  certificate: string;
  privateKey: KeyObject;
}

/** RFC 5280, 4.2.1.2: the SHA-1 of the bits of the key, without the algorithm. */
const keyIdentifier = (key: KeyObject): Buffer =>
  createHash('sha1')
    .update(der.readDer(encodePublicKey(key)).child(1).content.subarray(1))
    .digest();

function signed(tbs: Buffer, privateKey: KeyObject): string {
  const algorithm = der.sequence(der.oid(ECDSA_WITH_SHA256));
  const certificate = der.sequence(tbs, algorithm, der.bitString(sign('sha256', tbs, privateKey)));
  return pem('CERTIFICATE', certificate);
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
  // Positive, and without a leading zero byte, which DER forbids.
  serial[0] = (serial[0]! & 0x7f) | 0x40;
  return der.sequence(
    der.explicit(0, der.integer(2)),
    der.integer(serial),
    der.sequence(der.oid(ECDSA_WITH_SHA256)),
    parts.issuer,
    der.sequence(der.time(parts.notBefore), der.time(parts.notAfter)),
    parts.subject,
    encodePublicKey(parts.publicKey),
    der.explicit(3, der.sequence(...parts.extensions)),
  );
}

/** Creates the certificate of a new certificate authority, as PEM. The key must be an EC key on P-256. */
export function selfSignedCa(
  subject: Subject,
  privateKey: KeyObject,
  validity: { notBefore: Date; notAfter: Date },
): string {
  const publicKey = createPublicKey(privateKey);
  const tbs = toBeSigned({
    issuer: encodeName(subject),
    subject: encodeName(subject),
    publicKey,
    ...validity,
    extensions: [
      encodeExtension(OID.basicConstraints, der.sequence(der.TRUE), true),
      // digitalSignature, keyCertSign, cRLSign
      encodeExtension(OID.keyUsage, der.bitString(Buffer.from([0b1000_0110]), 1), true),
      encodeExtension(OID.subjectKeyIdentifier, der.octetString(keyIdentifier(publicKey))),
    ],
  });
  return signed(tbs, privateKey);
}

/** Issues a certificate for a client or a server and returns it as PEM. */
export function issueCertificate(request: CertificateRequestInfo, issuer: Issuer): string {
  const ca = new X509Certificate(issuer.certificate);
  const { subject, publicKey, notBefore, notAfter } = request;
  const tbs = toBeSigned({
    issuer: subjectElement(ca.raw).raw,
    subject: Buffer.isBuffer(subject) ? subject : encodeName(subject),
    publicKey,
    notBefore,
    notAfter,
    extensions: [
      encodeExtension(OID.basicConstraints, der.sequence(), true),
      ...keyUsage(request.keyUsages ?? { digitalSignature: true, keyEncipherment: false }),
      encodeExtension(OID.extKeyUsage, der.sequence(...request.usages.map((usage) => der.oid(OID[usage])))),
      encodeExtension(OID.subjectKeyIdentifier, der.octetString(keyIdentifier(publicKey))),
      encodeExtension(OID.authorityKeyIdentifier, der.sequence(der.implicit(0, keyIdentifier(ca.publicKey)))),
      ...subjectAltName(request.altNames ?? []),
    ],
  });
  return signed(tbs, issuer.privateKey);
}

/** Bits are counted from the left: digitalSignature is bit 0, keyEncipherment is bit 2. */
function keyUsage({
  digitalSignature,
  keyEncipherment,
}: {
  digitalSignature: boolean;
  keyEncipherment: boolean;
}): Buffer[] {
  if (!digitalSignature && !keyEncipherment) return [];
  const bits = (digitalSignature ? 0b1000_0000 : 0) | (keyEncipherment ? 0b0010_0000 : 0);
  return [encodeExtension(OID.keyUsage, der.bitString(Buffer.from([bits]), keyEncipherment ? 5 : 7), true)];
}

function subjectAltName(names: string[] | Buffer): Buffer[] {
  if (names.length === 0) return [];
  const value = Buffer.isBuffer(names) ? names : encodeAltNames(names);
  return [encodeExtension(SUBJECT_ALT_NAME, value)];
}

/** version, serialNumber, signature, issuer, validity, subject: the sixth element of a v3 certificate. */
export const subjectElement = (certificate: Buffer): der.DerElement =>
  der.readDer(certificate).child(0).child(5);
