import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { issueCertificate, type KeyPair, selfSignedCa } from '@tidegate/kube/certificates';

const DAY_MS = 24 * 3_600_000;

/** A certificate authority for tests. */
export class TestAuthority {
  readonly certificate: string;
  readonly #key: KeyObject = newKey();
  readonly #now: number;

  constructor(now = Date.now()) {
    this.#now = now;
    this.certificate = selfSignedCa(
      { commonName: 'test', organizations: [] },
      this.#key,
      this.#validity(365),
    );
  }

  /** Issues a server certificate. With `chain`, the certificate of the authority is appended. With `rsa`, the key is RSA. */
  issue(names: string[], { days = 90, chain = false, rsa = false } = {}): KeyPair {
    const key = rsa ? generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey : newKey();
    const leaf = issueCertificate(
      {
        subject: { commonName: names[0] ?? 'unnamed', organizations: [] },
        publicKey: createPublicKey(key),
        ...this.#validity(days),
        usages: ['serverAuth'],
        altNames: names,
      },
      { certificate: this.certificate, privateKey: this.#key },
    );
    return {
      certificate: chain ? `${leaf}${this.certificate}` : leaf,
      key: key.export({ type: 'pkcs8', format: 'pem' }).toString(),
    };
  }

  /** If `days` is negative, the certificate expired that many days ago. */
  #validity(days: number): { notBefore: Date; notAfter: Date } {
    const notAfter = new Date(this.#now + days * DAY_MS);
    return { notBefore: new Date(Math.min(this.#now, notAfter.getTime()) - DAY_MS), notAfter };
  }
}

const newKey = (): KeyObject =>
  createPrivateKey(
    generateKeyPairSync('ec', {
      namedCurve: 'P-256',
      privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
      publicKeyEncoding: { type: 'spki', format: 'pem' },
    }).privateKey,
  );
