/**
 * Signing requests that two parsers can understand differently. Each is harmless to one reading and asks for `evil` in
 * another: an approver that takes the first reading must not approve it for a signer that takes the second.
 */
import { generateKeyPairSync, sign } from 'node:crypto';
import * as der from '../certificates/der.ts';
import {
  ECDSA_WITH_SHA256,
  EXTENSION_REQUEST,
  encodeAltNames,
  encodeExtension,
  encodeName,
  encodePublicKey,
  pem,
  SUBJECT_ALT_NAME,
} from '../certificates/x509.ts';

const LABEL = 'CERTIFICATE REQUEST';

export interface HostileNames {
  /** The common name; the only organization is `system:nodes`. */
  user: string;
  harmless: string;
  evil: string;
}

/** By description: `spec.request` of a CertificateSigningRequest. */
export function hostileRequests({ user, harmless, evil }: HostileNames): Map<string, string> {
  const of = (host: string): Buffer => signed(user, [attribute(extension(host))]);
  const good = pem(LABEL, of(harmless));
  const bad = pem(LABEL, of(evil));
  const [begin = '', ...rest] = bad.split('\n');
  const withHeaders = [begin, 'Name: value', '', ...rest].join('\n');
  const twice = signed(user, [attribute(extension(harmless)), attribute(extension(evil))]);
  const both = signed(user, [attribute(extension(harmless), extension(evil))]);
  const more = der.sequence(
    der.oid(SUBJECT_ALT_NAME),
    der.octetString(encodeAltNames([evil])),
    der.octetString(encodeAltNames([harmless])),
  );
  const afterNames = der.octetString(Buffer.concat([encodeAltNames([harmless]), encodeAltNames([evil])]));
  const names = new Map<string, string>([
    ['a block with headers before the block', withHeaders + good],
    ['a block with invalid base64 before the block', good.replace(/=*\n-----END/, 'A\n-----END') + bad],
    ['a block whose end is not at the start of a line', good.replace('\n-----END', '-----END') + bad],
    ['a block whose beginning is not at the start of a line', `x${good}${bad}`],
    ['a block before the block', good + bad],
    ['text before the block', `${bad.replaceAll('-----', '----')}${good}`],
    ['bytes after the request', pem(LABEL, Buffer.concat([of(harmless), of(evil)]))],
    ['the extension in two attributes', pem(LABEL, twice)],
    ['the extension twice', pem(LABEL, both)],
    ['an extension with two values', pem(LABEL, signed(user, [attribute(more)]))],
    [
      'an extension with bytes after the names',
      pem(LABEL, signed(user, [attribute(der.sequence(der.oid(SUBJECT_ALT_NAME), afterNames))])),
    ],
    ['two common names', pem(LABEL, signed(user, [attribute(extension(harmless))], 'system:node:another'))],
  ]);
  return new Map([...names].map(([name, text]) => [name, Buffer.from(text).toString('base64')]));
}

const extension = (host: string): Buffer => encodeExtension(SUBJECT_ALT_NAME, encodeAltNames([host]));

const attribute = (...extensions: Buffer[]): Buffer =>
  der.sequence(der.oid(EXTENSION_REQUEST), der.set(der.sequence(...extensions)));

/** `first`: another common name before that of the user. */
function signed(user: string, attributes: Buffer[], first?: string): Buffer {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const names = [
    ...(first === undefined ? [] : [{ commonName: first, organizations: [] }]),
    { commonName: user, organizations: ['system:nodes'] },
  ];
  const info = der.sequence(
    der.integer(0),
    der.sequence(...names.map((name) => der.readDer(encodeName(name)).content)),
    encodePublicKey(publicKey),
    der.explicit(0, ...attributes),
  );
  return der.sequence(
    info,
    der.sequence(der.oid(ECDSA_WITH_SHA256)),
    der.bitString(sign('sha256', info, privateKey)),
  );
}
