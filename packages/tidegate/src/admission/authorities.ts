/**
 * The authorities that sign what the webhook server shows. There may be several at a time, the newest first: a new one
 * is trusted long before it signs anything, and an old one for as long as something that it signed may be shown. Who
 * signs follows from the list and the time alone, so managers that share the list agree without a word. Pure.
 */
import {
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  X509Certificate,
} from 'node:crypto';
import { issueCertificate, type KeyPair, selfSignedCa } from '@tidegate/kube';

const HOUR_MS = 3_600_000;
const AUTHORITY_LIFE_MS = 365 * 24 * HOUR_MS;
const SERVING_LIFE_MS = 30 * 24 * HOUR_MS;
/** For API servers whose clock is behind. */
const CLOCK_SKEW_MS = 5 * 60_000;
/** Until every API server has heard of a new authority. */
const TRUST_MS = HOUR_MS;

/** Adds an authority when the newest is past half its life, and drops those that are expired. The same list if neither is so. */
export function renewed(authorities: readonly KeyPair[], now: number): readonly KeyPair[] {
  const alive = authorities.filter(({ certificate }) => now < lifeOf(certificate).to);
  const newest = alive[0];
  if (newest === undefined || isPastHalfLife(newest.certificate, now)) return [newAuthority(now), ...alive];
  return alive.length === authorities.length ? authorities : alive;
}

/** What an API server shall trust. */
export const bundleOf = (authorities: readonly KeyPair[]): string =>
  authorities.map(({ certificate }) => certificate).join('');

/** The newest that everybody has had time to hear of; a first one need not wait. */
export function signerOf(authorities: readonly KeyPair[], now: number): KeyPair {
  const known = authorities.find(({ certificate }) => lifeOf(certificate).from + TRUST_MS <= now);
  const signer = known ?? authorities.at(-1);
  if (signer === undefined) throw new Error('there is no authority to sign with');
  return signer;
}

export function newServing(signer: KeyPair, hosts: readonly string[], now: number): KeyPair {
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

/** Whether it can be shown for a while yet to those who trust this authority. */
export const isGoodServing = (serving: KeyPair, signer: KeyPair, now: number): boolean =>
  new X509Certificate(serving.certificate).verify(createPublicKey(signer.key)) &&
  !isPastHalfLife(serving.certificate, now);

function newAuthority(now: number): KeyPair {
  const { privateKey } = newKey();
  const validity = {
    notBefore: new Date(now - CLOCK_SKEW_MS),
    notAfter: new Date(now + AUTHORITY_LIFE_MS),
  };
  // Two with the same name could not be told apart by those who look for the one that signed.
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
