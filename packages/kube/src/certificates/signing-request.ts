/** Creates PKCS #10 certificate signing requests. */
import { generateKeyPairSync, sign } from 'node:crypto';
import * as der from './der.ts';
import {
  ECDSA_WITH_SHA256,
  EXTENSION_REQUEST,
  encodeAltNames,
  encodeExtension,
  encodeName,
  encodePublicKey,
  pem,
  SUBJECT_ALT_NAME,
} from './x509.ts';

/** The subject and the names of the certificate. */
export interface SigningRequestOptions {
  commonName: string;
  organizations?: string[];
  dnsNames?: string[];
  ipAddresses?: string[];
}

/** A new private key, and a certificate signing request for it, both as PEM. */
export interface SigningRequest {
  key: string;
  request: string;
}

/** Creates a private key (EC, P-256) and a signing request for it. */
export function newSigningRequest(options: SigningRequestOptions): SigningRequest {
  const { commonName, organizations = [], dnsNames = [], ipAddresses = [] } = options;
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const info = der.sequence(
    der.integer(0),
    encodeName({ commonName, organizations }),
    encodePublicKey(publicKey),
    der.explicit(0, ...requestedExtensions([...dnsNames, ...ipAddresses])),
  );
  const algorithm = der.sequence(der.oid(ECDSA_WITH_SHA256));
  const signature = der.bitString(sign('sha256', info, privateKey));
  return {
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
    request: pem('CERTIFICATE REQUEST', der.sequence(info, algorithm, signature)),
  };
}

function requestedExtensions(hosts: string[]): Buffer[] {
  if (hosts.length === 0) return [];
  const extensions = der.sequence(encodeExtension(SUBJECT_ALT_NAME, encodeAltNames(hosts)));
  return [der.sequence(der.oid(EXTENSION_REQUEST), der.set(extensions))];
}
