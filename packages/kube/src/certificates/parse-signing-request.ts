/** Parses PKCS #10 certificate signing requests. */
import { createPublicKey, type KeyObject, verify } from 'node:crypto';
import { isIP, SocketAddress } from 'node:net';
import * as der from './der.ts';
import { EXTENSION_REQUEST, parseName, SUBJECT_ALT_NAME, type Subject } from './x509.ts';

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
 */
export function parseSigningRequest(base64: string): ParsedSigningRequest {
  const pem = Buffer.from(base64, 'base64').toString('latin1');
  const block = /-----BEGIN ([A-Z0-9 ]+)-----\s+([A-Za-z0-9+/=\s]+?)\s*-----END \1-----/.exec(pem);
  if (block?.[1] !== 'CERTIFICATE REQUEST') throw new Error('PEM block type must be CERTIFICATE REQUEST');
  const bytes = Buffer.from(block[2]!, 'base64');
  const [info, algorithm, signature] = der.readDer(bytes).children();
  if (info === undefined || algorithm === undefined || signature === undefined) {
    throw new Error('asn1: structure error: sequence truncated');
  }
  const [, subject, key, attributes] = info.children();
  if (subject === undefined || key === undefined)
    throw new Error('asn1: structure error: sequence truncated');
  const publicKey = createPublicKey({ key: key.raw, type: 'spki', format: 'der' });
  checkSignature(info.raw, algorithm, signature, publicKey);
  const altNames = attributes === undefined ? undefined : findAltNames(attributes);
  return {
    subject: parseName(subject),
    rawSubject: subject.raw,
    rawAltNames: altNames?.raw,
    publicKey,
    altNames: readAltNames(altNames),
  };
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
  for (const attribute of attributes.children()) {
    const [type, values] = attribute.children();
    if (type === undefined || values === undefined || !type.is(der.oid(EXTENSION_REQUEST))) continue;
    for (const extension of values.child(0).children()) {
      const parts = extension.children();
      if (parts[0]?.is(der.oid(SUBJECT_ALT_NAME))) found.push(der.readDer(parts.at(-1)!.content));
    }
  }
  // If an extension appears twice, the approver and the signer might not look at the same one.
  if (found.length > 1) throw new Error('x509: certificate request contains duplicate requested extensions');
  return found[0];
}

function readAltNames(altNames: der.DerElement | undefined): AltNames {
  const names: AltNames = { dns: [], ip: [], email: [], uri: [], others: 0 };
  for (const { tag, content } of altNames?.children() ?? []) {
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
