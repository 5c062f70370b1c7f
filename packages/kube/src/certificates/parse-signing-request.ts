/** Parses PKCS #10 certificate signing requests. */
import { createPublicKey, type KeyObject, verify } from 'node:crypto';
import { isIP, SocketAddress } from 'node:net';
import * as der from './der.ts';
import { countCommonNames, EXTENSION_REQUEST, parseName, SUBJECT_ALT_NAME, type Subject } from './x509.ts';

/** The content of a signing request. */
export interface ParsedSigningRequest {
  subject: Subject;
  /** Raw bytes, to be copied into the certificate unchanged. */
  rawSubject: Buffer;
  rawAltNames: Buffer | undefined;
  publicKey: KeyObject;
  altNames: AltNames;
}

/** The requested names, by type. IPv6 addresses are in their shortest form. */
export interface AltNames {
  dns: string[];
  ip: string[];
  email: string[];
  uri: string[];
  /** The number of names of other types. */
  others: number;
}

/** Signature algorithms and their hashes; Ed25519 has no separate hash. */
const HASHES = new Map<string, string | null>(
  (
    [
      ['1.2.840.10045.4.3.2', 'sha256'],
      ['1.2.840.10045.4.3.3', 'sha384'],
      ['1.2.840.10045.4.3.4', 'sha512'],
      ['1.2.840.113549.1.1.11', 'sha256'],
      ['1.2.840.113549.1.1.12', 'sha384'],
      ['1.2.840.113549.1.1.13', 'sha512'],
      ['1.3.101.112', null],
    ] as const
  ).map(([oid, hash]) => [der.oid(oid).toString('hex'), hash]),
);

/**
 * Parses `spec.request` (base64-encoded PEM), and checks the signature, which proves that the requester has the
 * private key. Throws an error with the message that kube-apiserver shows after `spec.request: Invalid value`.
 *
 * The program that approves a request and the program that signs it must read the same names. PEM and ASN.1 parsers differ
 * in what they skip, so this one skips nothing: it refuses everything but one PEM block without headers, and elements with
 * other parts than the standard has, although kube-apiserver accepts some of them.
 */
export function parseSigningRequest(base64: string): ParsedSigningRequest {
  const request = der.readWholeDer(readPem(Buffer.from(base64, 'base64').toString('latin1')));
  const [info, algorithm, signature] = request.exactly(der.TAG.sequence, 3) as Triple;
  const [, subject, key, attributes] = info.exactly(der.TAG.sequence, 4) as Quadruple;
  const publicKey = createPublicKey({ key: key.raw, type: 'spki', format: 'der' });
  checkSignature(info.raw, algorithm, signature, publicKey);
  const altNames = findAltNames(attributes);
  return {
    subject: readSubject(subject),
    rawSubject: subject.raw,
    rawAltNames: altNames?.raw,
    publicKey,
    altNames: readAltNames(altNames),
  };
}

type Pair = [der.DerElement, der.DerElement];
type Triple = [...Pair, der.DerElement];
type Quadruple = [...Triple, der.DerElement];

const LABEL = 'CERTIFICATE REQUEST';
const PEM = new RegExp(
  `^-----BEGIN ${LABEL}-----\\r?\\n((?:[A-Za-z0-9+/=]+\\r?\\n)+)-----END ${LABEL}-----\\s*$`,
);

/** The bytes of the only block. Some parsers skip blocks that they cannot read, and take the next. */
function readPem(text: string): Buffer {
  if (!text.includes(`-----BEGIN ${LABEL}-----`)) throw new Error(`PEM block type must be ${LABEL}`);
  const [, body = ''] = PEM.exec(text) ?? [];
  const encoded = body.replaceAll(/\s/g, '');
  const bytes = Buffer.from(encoded, 'base64');
  if (bytes.length === 0 || bytes.toString('base64') !== encoded)
    throw new Error(
      'must be exactly one PEM block with valid base64, without headers and without text around it',
    );
  return bytes;
}

/** Programs differ in which of several common names they use. */
function readSubject(element: der.DerElement): Subject {
  const subject = parseName(element);
  if (countCommonNames(element) > 1) throw new Error('the subject has more than one common name');
  return subject;
}

function checkSignature(
  signed: Buffer,
  algorithm: der.DerElement,
  signature: der.DerElement,
  publicKey: KeyObject,
): void {
  const hash = HASHES.get(algorithm.child(0).raw.toString('hex'));
  if (hash === undefined) throw new Error('x509: cannot verify signature: algorithm unimplemented');
  // The first byte of a bit string is the number of unused bits in the last byte: none.
  if (verify(hash, signed, publicKey, signature.content.subarray(1))) return;
  throw new Error(
    publicKey.asymmetricKeyType === 'rsa'
      ? 'crypto/rsa: verification error'
      : 'x509: ECDSA verification failure',
  );
}

/** attributes -> extensionRequest -> the extensions -> subjectAltName -> its names. */
function findAltNames(attributes: der.DerElement): der.DerElement | undefined {
  const found: der.DerElement[] = [];
  for (const attribute of attributes.exactly(CONTEXT_0, 0, MOST_PARTS)) {
    const [type, values] = attribute.exactly(der.TAG.sequence, 2) as Pair;
    if (!type.is(der.oid(EXTENSION_REQUEST))) continue;
    const [extensions] = values.exactly(der.TAG.set, 1) as [der.DerElement];
    for (const extension of extensions.exactly(der.TAG.sequence, 0, MOST_PARTS)) {
      const value = extensionValue(extension, der.oid(SUBJECT_ALT_NAME));
      if (value !== undefined) found.push(der.readWholeDer(value));
    }
  }
  // If an extension appears twice, the approver and the signer might not look at the same one.
  if (found.length > 1) throw new Error('x509: certificate request contains duplicate requested extensions');
  return found[0];
}

const CONTEXT_0 = 0xa0;
const MOST_PARTS = 10_000;

/** The value of an extension; undefined for an extension of another type. */
function extensionValue(extension: der.DerElement, type: Buffer): Buffer | undefined {
  const parts = extension.exactly(der.TAG.sequence, 2, 3);
  const [id, critical, value = critical] = parts;
  if (parts.length === 3 && critical?.tag !== der.TAG.boolean)
    throw new Error('x509: an extension of the certificate request is malformed');
  if (value?.tag !== der.TAG.octetString)
    throw new Error('x509: an extension of the certificate request is malformed');
  return id?.is(type) ? value.content : undefined;
}

function readAltNames(altNames: der.DerElement | undefined): AltNames {
  const names: AltNames = { dns: [], ip: [], email: [], uri: [], others: 0 };
  for (const { tag, content } of altNames?.exactly(der.TAG.sequence, 0, MOST_PARTS) ?? []) {
    if (tag === 0x81) names.email.push(content.toString('latin1'));
    else if (tag === 0x82) names.dns.push(content.toString('latin1'));
    else if (tag === 0x86) names.uri.push(content.toString('latin1'));
    else if (tag === 0x87) names.ip.push(addressText(content));
    else names.others++;
  }
  return names;
}

function addressText(bytes: Buffer): string {
  if (bytes.length === 4) return bytes.join('.');
  const groups = bytes.toString('hex').match(/.{4}/g)?.join(':') ?? '';
  if (bytes.length !== 16 || isIP(groups) === 0) {
    throw new Error(`x509: cannot parse IP address of length ${bytes.length}`);
  }
  return new SocketAddress({ address: groups, family: 'ipv6' }).address;
}
