import { createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { issueCertificate, type KeyPair, selfSignedCa } from '@tidegate/kube/certificates';

/** `notBefore` and `notAfter` are in milliseconds since the epoch. */
interface Wanted {
  commonName: string;
  organizations?: string[];
  names?: string[];
  usage?: 'serverAuth' | 'clientAuth';
  notBefore?: number;
  notAfter?: number;
}

/** A certificate authority for tests. */
export class TestAuthority {
  readonly ca: string;
  readonly #key = newKey();

  constructor(commonName = 'test-ca') {
    const notBefore = new Date(Date.UTC(2020, 0, 1));
    const notAfter = new Date(Date.UTC(2049, 0, 1));
    this.ca = selfSignedCa({ commonName, organizations: [] }, this.#key, { notBefore, notAfter });
  }

  issue({ commonName, organizations = [], names = [], usage = 'serverAuth', ...dates }: Wanted): KeyPair {
    const key = newKey();
    const certificate = issueCertificate(
      {
        subject: { commonName, organizations },
        publicKey: createPublicKey(key),
        notBefore: new Date(dates.notBefore ?? Date.UTC(2020, 0, 1)),
        notAfter: new Date(dates.notAfter ?? Date.UTC(2048, 0, 1)),
        usages: [usage],
        altNames: names,
      },
      { certificate: this.ca, privateKey: this.#key },
    );
    return { certificate, key: key.export({ type: 'pkcs8', format: 'pem' }).toString() };
  }
}

const newKey = (): KeyObject => generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey;
