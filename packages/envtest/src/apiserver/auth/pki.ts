/**
 * The keys and certificates of the server, in one directory:
 *
 *   ca.crt, ca.key                 the cluster CA, which signs all certificates below; valid for 10 years
 *   apiserver.crt, apiserver.key   serving certificate
 *   admin.crt, admin.key           kubernetes-admin in system:masters, for the kubeconfig
 *   apiserver-kubelet-client.*     client certificate of the server for connections to kubelets
 *   sa.key                         signs service account tokens
 *
 * Missing files are created and certificates that are about to expire are renewed. Unusable files are reported and
 * never overwritten, because a new CA would invalidate the credentials of all clients.
 */
import {
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  X509Certificate,
} from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { isIP } from 'node:net';
import { join } from 'node:path';
import { writeFileAtomically } from '@tidegate/disk';
import {
  type CertificateRequestInfo,
  type Issuer,
  issueCertificate,
  type KeyPair,
  type Subject,
  selfSignedCa,
} from '@tidegate/kube/certificates';
import { ServiceAccountKey } from './service-account-key.ts';

const DAY = 24 * 3600 * 1000;
const CA_DAYS = 3650;
const LEAF_DAYS = 365;
/** Certificates become valid a little before they are issued, for clients whose clock is behind. */
const CLOCK_SKEW = 5 * 60 * 1000;

/** Names under which clients inside and outside of the cluster reach the server. */
const ALWAYS_SERVED_NAMES = [
  'localhost',
  'kubernetes',
  'kubernetes.default',
  'kubernetes.default.svc',
  'kubernetes.default.svc.cluster.local',
  '127.0.0.1',
  '::1',
  // The first address of the default service range belongs to the Service `kubernetes`.
  '10.96.0.1',
];

export interface PkiOptions {
  directory: string;
  /** Additional host names and addresses of the server. */
  hosts?: string[];
  now?: () => Date;
}

/** The keys and certificates in memory. `sign` issues certificates with the cluster CA. */
export class Pki {
  /** PEM. */
  readonly ca: string;
  readonly serving: KeyPair;
  readonly admin: KeyPair;
  readonly kubeletClient: KeyPair;
  readonly serviceAccountKey: ServiceAccountKey;
  readonly #issuer: Issuer;
  readonly #now: () => Date;

  constructor(parts: Omit<Pki, 'issueClientCertificate' | 'sign'>, issuer: Issuer, now: () => Date) {
    this.ca = parts.ca;
    this.serving = parts.serving;
    this.admin = parts.admin;
    this.kubeletClient = parts.kubeletClient;
    this.serviceAccountKey = parts.serviceAccountKey;
    this.#issuer = issuer;
    this.#now = now;
  }

  /** Issues a certificate for a new identity: `commonName` becomes the user, `organizations` the groups. */
  issueClientCertificate(request: Subject & { days: number }): KeyPair {
    const { privateKey, publicKey } = newKey();
    const subject = { commonName: request.commonName, organizations: request.organizations };
    const validity = validFor(request.days, this.#now());
    return {
      certificate: this.sign({ subject, publicKey, usages: ['clientAuth'], ...validity }),
      key: toPem(privateKey),
    };
  }

  sign(request: CertificateRequestInfo): string {
    return issueCertificate(request, this.#issuer);
  }
}

/** Opens the directory and creates missing files. Throws an error that names the file if one is unusable. */
export function openPki(options: PkiOptions): Pki {
  const now = options.now ?? (() => new Date());
  const { directory } = options;
  const caPair = openPair(directory, 'ca', (privateKey) =>
    selfSignedCa({ commonName: 'kubernetes', organizations: [] }, privateKey, validFor(CA_DAYS, now())),
  );
  checkNotExpired(join(directory, 'ca.crt'), caPair.certificate, now());
  const issuer: Issuer = { certificate: caPair.certificate, privateKey: createPrivateKey(caPair.key) };

  const names = [...new Set([...ALWAYS_SERVED_NAMES, ...(options.hosts ?? [])])];
  const openLeaf = (
    name: string,
    request: Pick<CertificateRequestInfo, 'subject' | 'usages'> & { altNames?: string[] },
  ): KeyPair =>
    openPair(
      directory,
      name,
      (privateKey) =>
        issueCertificate(
          { ...request, publicKey: createPublicKey(privateKey), ...validFor(LEAF_DAYS, now()) },
          issuer,
        ),
      (certificate) =>
        certificate.verify(createPublicKey(issuer.privateKey)) &&
        // Renewed at the start after half of the lifetime, because a server may run for months without a restart.
        Date.parse(certificate.validTo) - now().getTime() > (LEAF_DAYS * DAY) / 2 &&
        (request.altNames ?? []).every((host) => covers(certificate, host)),
    );

  const parts = {
    ca: caPair.certificate,
    serving: openLeaf('apiserver', {
      subject: { commonName: 'kube-apiserver', organizations: [] },
      usages: ['serverAuth'],
      altNames: names,
    }),
    admin: openLeaf('admin', {
      subject: { commonName: 'kubernetes-admin', organizations: ['system:masters'] },
      usages: ['clientAuth'],
    }),
    kubeletClient: openLeaf('apiserver-kubelet-client', {
      subject: { commonName: 'kube-apiserver-kubelet-client', organizations: ['system:masters'] },
      usages: ['clientAuth'],
    }),
    serviceAccountKey: new ServiceAccountKey(openKey(join(directory, 'sa.key'))),
  };
  return new Pki(parts, issuer, now);
}

const newKey = (): { privateKey: KeyObject; publicKey: KeyObject } =>
  generateKeyPairSync('ec', { namedCurve: 'P-256' });

const toPem = (key: KeyObject): string => key.export({ type: 'pkcs8', format: 'pem' }).toString();

const validFor = (days: number, now: Date): { notBefore: Date; notAfter: Date } => ({
  notBefore: new Date(now.getTime() - CLOCK_SKEW),
  notAfter: new Date(now.getTime() + days * DAY),
});

const covers = (certificate: X509Certificate, host: string): boolean =>
  (isIP(host) === 0 ? certificate.checkHost(host) : certificate.checkIP(host)) !== undefined;

/**
 * Reads `name`.crt and `name`.key. The key is written first, so a crash between the two leaves a key without a
 * certificate, and the next start completes the pair. A certificate without a key is an error, because no crash can
 * cause it.
 */
function openPair(
  directory: string,
  name: string,
  make: (privateKey: KeyObject) => string,
  isCurrent: (certificate: X509Certificate) => boolean = () => true,
): KeyPair {
  const keyPath = join(directory, `${name}.key`);
  const certificatePath = join(directory, `${name}.crt`);
  if (!existsSync(keyPath) && existsSync(certificatePath)) {
    throw new Error(
      `${certificatePath} exists, but its key ${keyPath} is missing: restore the key, or remove the certificate to create both again`,
    );
  }
  const privateKey = openKey(keyPath);
  const key = toPem(privateKey);
  if (existsSync(certificatePath)) {
    const text = readFileSync(certificatePath, 'utf8');
    const certificate = parseCertificate(certificatePath, text);
    if (!certificate.checkPrivateKey(privateKey)) {
      throw new Error(
        `${certificatePath} does not belong to ${keyPath}: restore the correct file, or remove both files to create new ones`,
      );
    }
    if (isCurrent(certificate)) return { certificate: text, key };
  }
  const certificate = make(privateKey);
  writeFileAtomically(certificatePath, certificate, 0o644);
  return { certificate, key };
}

function openKey(path: string): KeyObject {
  if (existsSync(path)) {
    try {
      return createPrivateKey(readFileSync(path));
    } catch (cause) {
      throw new Error(
        `${path} does not contain a private key in PEM format: restore the correct file, or remove it to create a new one`,
        {
          cause,
        },
      );
    }
  }
  const { privateKey } = newKey();
  writeFileAtomically(path, toPem(privateKey), 0o600);
  return privateKey;
}

function parseCertificate(path: string, text: string): X509Certificate {
  try {
    return new X509Certificate(text);
  } catch (cause) {
    throw new Error(
      `${path} does not contain a certificate in PEM format: restore the correct file, or remove it to create a new one`,
      {
        cause,
      },
    );
  }
}

function checkNotExpired(path: string, text: string, now: Date): void {
  const { validTo } = new X509Certificate(text);
  if (Date.parse(validTo) > now.getTime()) return;
  throw new Error(
    `${path} expired on ${validTo}: remove the directory to create a new CA, then give the new kubeconfig to all clients`,
  );
}
