import { createHash, createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto';
import type { Secret } from '@tidegate/kube';
import { wildcardOf, writtenHost } from '../match/index.ts';
import type { Certificate, HostName } from '../model.ts';

/** A certificate that can be served. */
export interface TlsSecret extends Pick<Certificate, 'secret' | 'certificate' | 'key' | 'fingerprint'> {
  /** The DNS names that it is for. */
  readonly names: readonly HostName[];
  readonly notBefore: number;
  readonly notAfter: number;
}

/** Why a Secret can not be served, in a sentence for its owner that tells nothing of its content. */
export class InvalidSecretError extends Error {
  override readonly name = 'InvalidSecretError';
}

const TYPES: readonly (string | undefined)[] = ['kubernetes.io/tls', 'Opaque', undefined];
const LONGEST_CHAIN = 16;
/** nginx of Debian takes no smaller one. */
const SMALLEST_RSA_KEY = 2048;
const PEM_CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;

/** What comes out is written anew from what was understood: no byte beside it gets further. */
export function readTlsSecret(secret: Secret): TlsSecret {
  if (!TYPES.includes(secret.type))
    throw new InvalidSecretError(`its type is ${secret.type}, not kubernetes.io/tls`);
  const chain = readChain(field(secret, 'tls.crt'));
  const [leaf] = chain;
  if (leaf === undefined) throw new InvalidSecretError('tls.crt has no PEM certificate');
  const key = readKey(field(secret, 'tls.key'));
  if (!leaf.checkPrivateKey(key)) {
    throw new InvalidSecretError('tls.key is not the key of the first certificate in tls.crt');
  }
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

/** Whether clients that ask for the host will take the certificate. */
export const isFor = ({ names }: TlsSecret, host: HostName): boolean =>
  names.includes(host) || names.includes(wildcardOf(host) ?? '');

function field({ data }: Secret, name: string): string {
  const encoded = data?.[name];
  if (encoded === undefined || encoded === '') throw new InvalidSecretError(`it has no ${name}`);
  return Buffer.from(encoded, 'base64').toString('latin1');
}

function readChain(pem: string): X509Certificate[] {
  const blocks = pem.match(PEM_CERTIFICATE) ?? [];
  if (blocks.length > LONGEST_CHAIN) {
    throw new InvalidSecretError(`tls.crt has ${blocks.length} certificates, more than ${LONGEST_CHAIN}`);
  }
  return blocks.map((block, index) => {
    try {
      return new X509Certificate(block);
    } catch (cause) {
      throw new InvalidSecretError(`certificate ${index + 1} in tls.crt can not be read`, { cause });
    }
  });
}

function readKey(pem: string): KeyObject {
  const key = parseKey(pem);
  const { modulusLength = SMALLEST_RSA_KEY } = key.asymmetricKeyDetails ?? {};
  if (modulusLength < SMALLEST_RSA_KEY) {
    throw new InvalidSecretError(`tls.key has ${modulusLength} bits, it needs ${SMALLEST_RSA_KEY}`);
  }
  return key;
}

function parseKey(pem: string): KeyObject {
  try {
    return createPrivateKey(pem);
  } catch (cause) {
    throw new InvalidSecretError('tls.key is no PEM private key without a passphrase', { cause });
  }
}

/** Node quotes names that could be taken for several: those are no host names. */
function dnsNames({ subjectAltName = '' }: X509Certificate): HostName[] {
  const names = subjectAltName
    .split(', ')
    .flatMap((entry) => (entry.startsWith('DNS:') ? [writtenHost(entry.slice('DNS:'.length))] : []))
    .filter((name) => name !== undefined && name !== '');
  return [...new Set(names)] as HostName[];
}
