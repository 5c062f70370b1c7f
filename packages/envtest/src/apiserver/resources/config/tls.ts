import { createPrivateKey, X509Certificate } from 'node:crypto';
import type { Secret } from './types.ts';

const NO_PEM = 'tls: failed to find any PEM data in';

/** An invalid TLS secret is stored, with a warning in the words of Go's crypto/tls. */
export function tlsWarnings({ type, data = {} }: Secret): string[] {
  if (type !== 'kubernetes.io/tls') return [];
  const certificate = Buffer.from(data['tls.crt'] ?? '', 'base64').toString();
  const key = Buffer.from(data['tls.key'] ?? '', 'base64').toString();
  if (!certificate.includes('-----BEGIN ')) return [`${NO_PEM} certificate input`];
  if (!key.includes('-----BEGIN ')) return [`${NO_PEM} key input`];
  try {
    const matches = new X509Certificate(certificate).checkPrivateKey(createPrivateKey(key));
    return matches ? [] : ['tls: private key does not match public key'];
  } catch {
    return ['tls: failed to parse private key'];
  }
}
