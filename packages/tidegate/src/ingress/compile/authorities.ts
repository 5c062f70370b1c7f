import { X509Certificate } from 'node:crypto';
import { createSecureContext } from 'node:tls';
import type { Authorities } from '../model.ts';

/** Why the authorities of a Secret cannot be used. */
export class InvalidAuthoritiesError extends Error {
  override readonly name = 'InvalidAuthoritiesError';
}

/** How many authorities a Secret can have. Each is sent to a client in the handshake, and compared with its certificate. */
const MOST_AUTHORITIES = 200;
const MOST_LISTS = 50;

/**
 * Reads the authorities of client certificates from `ca.crt`, and revoked certificates from `ca.crl`, both in PEM. Throws
 * InvalidAuthoritiesError if anything in it cannot be read: without a list, a revoked certificate would be valid.
 */
export function readAuthorities(data: Readonly<Record<string, string>>): Authorities {
  const certificates = blocksOf(data, 'ca.crt', 'CERTIFICATE');
  if (certificates.length === 0)
    throw new InvalidAuthoritiesError('its key ca.crt has no certificate in PEM');
  if (certificates.length > MOST_AUTHORITIES)
    throw new InvalidAuthoritiesError(`its key ca.crt has more than ${MOST_AUTHORITIES} certificates`);
  certificates.forEach((pem, index) => {
    attempt(`certificate ${index + 1} of its key ca.crt cannot be read`, () => new X509Certificate(pem));
  });
  const revoked = data['ca.crl'] === undefined ? [] : blocksOf(data, 'ca.crl', 'X509 CRL');
  if (data['ca.crl'] !== undefined && revoked.length === 0)
    throw new InvalidAuthoritiesError('its key ca.crl has no list of revoked certificates in PEM');
  if (revoked.length > MOST_LISTS)
    throw new InvalidAuthoritiesError(`its key ca.crl has more than ${MOST_LISTS} lists`);
  revoked.forEach((pem, index) => {
    attempt(`list ${index + 1} of its key ca.crl cannot be read`, () => createSecureContext({ crl: pem }));
  });
  return { certificates, revoked };
}

function attempt(message: string, read: () => unknown): void {
  try {
    read();
  } catch (error) {
    throw new InvalidAuthoritiesError(message, { cause: error });
  }
}

/** The blocks of PEM in a key, without what is between them. A block with another label, for example a private key, is an error. */
function blocksOf(data: Readonly<Record<string, string>>, key: string, label: string): string[] {
  const text = Buffer.from(data[key] ?? '', 'base64').toString('latin1');
  const labels = [...text.matchAll(/-----BEGIN ([^-]*)-----/g)].map(([, found]) => found);
  const other = labels.find((found) => found !== label);
  if (other !== undefined)
    throw new InvalidAuthoritiesError(`its key ${key} has a block ${JSON.stringify(other)}, not ${label}`);
  const block = new RegExp(
    `-----BEGIN ${label}-----\\r?\\n([A-Za-z0-9+/=\\r\\n]+)-----END ${label}-----`,
    'g',
  );
  const blocks = [...text.matchAll(block)].map(
    ([, body = '']) =>
      `-----BEGIN ${label}-----\n${body.replace(/\r/g, '').trim()}\n-----END ${label}-----\n`,
  );
  if (blocks.length !== labels.length)
    throw new InvalidAuthoritiesError(`its key ${key} has a block ${label} that is not complete`);
  return blocks;
}
