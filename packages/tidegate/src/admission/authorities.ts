/**
 * The certificate authorities that sign the serving certificates of the webhook. The list can have several, newest
 * first. API servers trust a new authority long before it signs anything, and an old one for as long as a certificate
 * that it signed may be in use. The signer depends on the list and the time only, so all managers that share the list
 * choose the same one. Pure.
 */
import {
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  X509Certificate,
} from 'node:crypto';
import { issueCertificate, type KeyPair, selfSignedCa } from '@tidegate/kube/certificates';

const HOUR_MS = 3_600_000;
const AUTHORITY_LIFE_MS = 365 * 24 * HOUR_MS;
const SERVING_LIFE_MS = 30 * 24 * HOUR_MS;
/** Certificates are valid from slightly before now, for API servers whose clock is behind. */
const CLOCK_SKEW_MS = 5 * 60_000;
/** After this time every API server has loaded a new authority. */
const TRUST_MS = HOUR_MS;

/**
 * Adds an authority if the newest one is past half of its lifetime, and removes expired ones. Returns the same list if
 * nothing changes.
 */
export function renewed(authorities: readonly KeyPair[], now: number): readonly KeyPair[] {
  const alive = authorities.filter(({ certificate }) => now < lifeOf(certificate).to);
  const newest = alive[0];
  if (newest === undefined || isPastHalfLife(newest.certificate, now)) return [newAuthority(now), ...alive];
  return alive.length === authorities.length ? authorities : alive;
}

/** The CA bundle for the webhook configuration. */
export const bundleOf = (authorities: readonly KeyPair[]): string =>
  authorities.map(({ certificate }) => certificate).join('');

/**
 * The newest authority that every API server trusts by now. The first authority ever signs immediately. `deployed` is the CA
 * bundle in the webhook configurations: where an administrator has to copy a new authority there, it does not sign before.
 */
export function signerOf(authorities: readonly KeyPair[], now: number, deployed: string): KeyPair {
  const known = authorities.find(
    ({ certificate }) => lifeOf(certificate).from + TRUST_MS <= now && deployed.includes(certificate.trim()),
  );
  const signer = known ?? authorities.at(-1);
  if (signer === undefined) throw new Error('no certificate authority is available to sign with');
  return signer;
}

export function newServingCertificate(signer: KeyPair, hosts: readonly string[], now: number): KeyPair {
  const { privateKey, publicKey } = newKey();
  const notAfter = Math.min(now + SERVING_LIFE_MS, lifeOf(signer.certificate).to);
  const certificate = issueCertificate(
    {
      subject: { commonName: hosts[0] ?? 'tidegate-webhook', organizations: [] },
      publicKey,
      notBefore: new Date(now - CLOCK_SKEW_MS),
      notAfter: new Date(notAfter),
      usages: ['serverAuth'],
      altNames: [...hosts],
    },
    { certificate: signer.certificate, privateKey: createPrivateKey(signer.key) },
  );
  return { certificate, key: toPem(privateKey) };
}

/** Whether the serving certificate was signed by this authority and is not due for renewal. */
export const isServingCurrent = (serving: KeyPair, signer: KeyPair, now: number): boolean =>
  new X509Certificate(serving.certificate).verify(createPublicKey(signer.key)) &&
  !isPastHalfLife(serving.certificate, now);

function newAuthority(now: number): KeyPair {
  const { privateKey } = newKey();
  const validity = {
    notBefore: new Date(now - CLOCK_SKEW_MS),
    notAfter: new Date(now + AUTHORITY_LIFE_MS),
  };
  // The names must differ: TLS clients look up the issuer of a certificate by name.
  const subject = { commonName: `tidegate-webhook-ca@${Math.floor(now / 1000)}`, organizations: [] };
  return { certificate: selfSignedCa(subject, privateKey, validity), key: toPem(privateKey) };
}

function isPastHalfLife(certificate: string, now: number): boolean {
  const { from, to } = lifeOf(certificate);
  return now >= from + (to - from) / 2;
}

function lifeOf(certificate: string): { from: number; to: number } {
  const { validFrom, validTo } = new X509Certificate(certificate);
  return { from: Date.parse(validFrom), to: Date.parse(validTo) };
}

const newKey = (): { privateKey: KeyObject; publicKey: KeyObject } =>
  generateKeyPairSync('ec', { namedCurve: 'P-256' });

const toPem = (key: KeyObject): string => key.export({ type: 'pkcs8', format: 'pem' }).toString();
