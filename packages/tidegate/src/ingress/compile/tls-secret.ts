import {
  createHash,
  createPrivateKey,
  createPublicKey,
  type KeyObject,
  sign,
  verify,
  X509Certificate,
} from 'node:crypto';
import { ownField, type Secret } from '@tidegate/kube';
import { wildcardOf, writtenHost } from '../match/index.ts';
import type { Certificate, HostName } from '../model.ts';

/** A valid certificate with its key. */
export interface TlsSecret extends Pick<Certificate, 'secret' | 'certificate' | 'key' | 'fingerprint'> {
  /** DNS names in the subject alternative name. */
  readonly names: ReadonlySet<HostName>;
  /** Milliseconds since the epoch, like `notAfter`. */
  readonly notBefore: number;
  readonly notAfter: number;
}

/** A Secret is invalid. The message is for its owner and contains nothing of its content. */
export class InvalidSecretError extends Error {
  override readonly name = 'InvalidSecretError';
}

/** The manager may read only Secrets of this type, so routers use no others: both give the same answer. */
const TYPE = 'kubernetes.io/tls';
const MAX_CHAIN_LENGTH = 16;
/** Public authorities issue certificates with 100 names. Each name is looked up for each Ingress with the Secret. */
const MAX_NAMES = 1_000;
/** OpenSSL in Debian rejects smaller keys (security level 2). */
const MIN_RSA_BITS = 2048;
/** A handshake takes CPU time of the router, which all tenants share: eight times as much for twice the bits. */
const MAX_RSA_BITS = 4096;
/** Kinds of keys with handshakes of bounded cost, and their curves. */
const CURVES: Readonly<Record<string, readonly string[] | undefined>> = {
  ec: ['prime256v1', 'secp384r1', 'secp521r1'],
};
const KEY_TYPES = ['rsa', 'ec', 'ed25519'];
const PEM_CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;

/**
 * Parses a Secret. Throws InvalidSecretError. Certificates and key are serialized again from the parsed values, so that
 * no other text of the Secret reaches a data plane.
 */
export function readTlsSecret(secret: Secret): TlsSecret {
  if (secret.type !== TYPE)
    throw new InvalidSecretError(
      `type is ${secret.type ?? 'Opaque'}, not ${TYPE}; a type cannot be changed: delete the Secret and create it with kubectl create secret tls`,
    );
  const chain = readChain(field(secret, 'tls.crt'));
  const [leaf] = chain;
  if (leaf === undefined) throw new InvalidSecretError('tls.crt contains no PEM certificate');
  const key = readKey(field(secret, 'tls.key'));
  if (!leaf.checkPrivateKey(key)) {
    throw new InvalidSecretError('tls.key does not match the first certificate in tls.crt');
  }
  checkConsistent(key);
  const certificate = chain.map(String).join('');
  const keyPem = key.export({ type: 'pkcs8', format: 'pem' }).toString();
  return {
    secret: `${secret.metadata.namespace}/${secret.metadata.name}`,
    certificate,
    key: keyPem,
    fingerprint: createHash('sha256').update(certificate).update(keyPem).digest('hex'),
    names: dnsNames(leaf),
    notBefore: Date.parse(leaf.validFrom),
    notAfter: Date.parse(leaf.validTo),
  };
}

/** Whether clients of the host accept the certificate. */
export const isFor = ({ names }: TlsSecret, host: HostName): boolean =>
  names.has(host) || names.has(wildcardOf(host) ?? '');

function field({ data }: Secret, name: string): string {
  const encoded = ownField(data, name);
  if (encoded === undefined || encoded === '') throw new InvalidSecretError(`${name} is missing`);
  return Buffer.from(encoded, 'base64').toString('latin1');
}

function readChain(pem: string): X509Certificate[] {
  const blocks = pem.match(PEM_CERTIFICATE) ?? [];
  if (blocks.length > MAX_CHAIN_LENGTH) {
    throw new InvalidSecretError(
      `tls.crt contains ${blocks.length} certificates, more than ${MAX_CHAIN_LENGTH}`,
    );
  }
  return blocks.map((block, index) => {
    try {
      return new X509Certificate(block);
    } catch (cause) {
      throw new InvalidSecretError(`certificate ${index + 1} in tls.crt is not valid`, { cause });
    }
  });
}

function readKey(pem: string): KeyObject {
  const key = parseKey(pem);
  const { asymmetricKeyType: type = '', asymmetricKeyDetails = {} } = key;
  const { modulusLength, publicExponent = 0n, namedCurve = '' } = asymmetricKeyDetails;
  if (!KEY_TYPES.includes(type))
    throw new InvalidSecretError(`tls.key is a key of type ${type}; use RSA, ECDSA or Ed25519`);
  if (CURVES[type]?.includes(namedCurve) === false)
    throw new InvalidSecretError(`tls.key has the curve ${namedCurve}; use P-256, P-384 or P-521`);
  if (modulusLength === undefined) return key;
  if (modulusLength < MIN_RSA_BITS)
    throw new InvalidSecretError(`tls.key has ${modulusLength} bits; at least ${MIN_RSA_BITS} are required`);
  if (modulusLength > MAX_RSA_BITS)
    throw new InvalidSecretError(`tls.key has ${modulusLength} bits; at most ${MAX_RSA_BITS} are allowed`);
  if (publicExponent > 0xffff_ffffn)
    throw new InvalidSecretError('tls.key has a public exponent of more than 32 bits; use 65537');
  return key;
}

/**
 * The numbers in an RSA key depend on each other, and OpenSSL does not compare them when it reads the key. With wrong ones,
 * each signature takes several times as long, and no client accepts it.
 */
function checkConsistent(key: KeyObject): void {
  if (key.asymmetricKeyType !== 'rsa') return;
  const probe = Buffer.from('tidegate');
  if (!verify('sha256', probe, createPublicKey(key), sign('sha256', probe, key)))
    throw new InvalidSecretError('tls.key is damaged: its signatures are not valid');
}

function parseKey(pem: string): KeyObject {
  try {
    return createPrivateKey(pem);
  } catch (cause) {
    throw new InvalidSecretError('tls.key is not a PEM private key without a passphrase', { cause });
  }
}

/** Node quotes names that contain a separator. Such names are not valid host names and are left out. */
function dnsNames({ subjectAltName = '' }: X509Certificate): Set<HostName> {
  const names = subjectAltName
    .split(', ')
    .flatMap((entry) => (entry.startsWith('DNS:') ? [writtenHost(entry.slice('DNS:'.length))] : []))
    .filter((name): name is HostName => name !== undefined && name !== '');
  if (names.length > MAX_NAMES)
    throw new InvalidSecretError(`tls.crt is for ${names.length} names, more than ${MAX_NAMES}`);
  return new Set(names);
}
