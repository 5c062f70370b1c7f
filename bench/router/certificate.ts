import { createPrivateKey, generateKeyPairSync } from 'node:crypto';
import { type KeyPair, selfSignedCa } from '@tidegate/kube/certificates';

const DAY_MS = 24 * 3_600_000;

/** A self-signed certificate. Clients do not verify it; they only check which of two certificates they got. */
export function newCertificate(): KeyPair {
  const { privateKey } = generateKeyPairSync('ec', {
    namedCurve: 'P-256',
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
    publicKeyEncoding: { type: 'spki', format: 'pem' },
  });
  const now = Date.now();
  const validity = { notBefore: new Date(now - DAY_MS), notAfter: new Date(now + DAY_MS) };
  const certificate = selfSignedCa(
    { commonName: 'bench', organizations: [] },
    createPrivateKey(privateKey),
    validity,
  );
  return { certificate, key: privateKey };
}
