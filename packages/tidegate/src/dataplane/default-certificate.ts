import { createPrivateKey, generateKeyPairSync, type KeyObject, X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { isErrno, writeFileAtomically } from '@tidegate/disk';
import { issueCertificate, type KeyPair, selfSignedCa } from '@tidegate/kube/certificates';

const DAY_MS = 24 * 3_600_000;
const LIFE_MS = 3650 * DAY_MS;
/** A stored certificate that ends sooner than this is replaced at the next start. */
const RENEW_MS = 30 * DAY_MS;
/**
 * A name below `.invalid` (RFC 2606): no client asks for it, and error messages of clients show where it comes from.
 */
const NAME = 'default-certificate.tidegate.invalid';

export interface DefaultCertificate extends KeyPair {
  /** The file that holds both. */
  path: string;
}

/**
 * The certificate for hosts without one of their own, if no Ingress provides a default. It is created once and stored, so
 * that a client that was configured to trust it keeps working after a restart.
 */
export function defaultCertificate(directory: string, now = Date.now()): DefaultCertificate {
  const path = join(directory, 'default-certificate.pem');
  const kept = read(path);
  if (kept !== undefined && endOf(kept) - now > RENEW_MS) return { ...kept, path };
  const made = newDefaultCertificate(now);
  writeFileAtomically(path, made.certificate + made.key, 0o600);
  return { ...made, path };
}

/** Undefined if there is no file, or no usable certificate in it; a new one is created then. */
function read(path: string): KeyPair | undefined {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    if (isErrno(error, 'ENOENT')) return undefined;
    throw error;
  }
  const key = text.indexOf('-----BEGIN PRIVATE KEY-----');
  const pair = { certificate: text.slice(0, key), key: text.slice(key) };
  return key > 0 && belongTogether(pair) ? pair : undefined;
}

function belongTogether({ certificate, key }: KeyPair): boolean {
  try {
    return new X509Certificate(certificate).checkPrivateKey(createPrivateKey(key));
  } catch {
    return false;
  }
}

const endOf = ({ certificate }: KeyPair): number => Date.parse(new X509Certificate(certificate).validTo);

/**
 * A new default certificate, signed by a CA whose key is discarded at once. It is as trustworthy as a self-signed one, but is not a CA itself.
 */
export function newDefaultCertificate(now: number): KeyPair {
  const validity = { notBefore: new Date(now - DAY_MS), notAfter: new Date(now + LIFE_MS) };
  const subject = { commonName: NAME, organizations: [] };
  const authority = newKey().privateKey;
  const { privateKey, publicKey } = newKey();
  const certificate = issueCertificate(
    { subject, publicKey, ...validity, usages: ['serverAuth'], altNames: [NAME] },
    { certificate: selfSignedCa(subject, authority, validity), privateKey: authority },
  );
  return { certificate, key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString() };
}

const newKey = (): { privateKey: KeyObject; publicKey: KeyObject } =>
  generateKeyPairSync('ec', { namedCurve: 'P-256' });
