import { X509Certificate } from 'node:crypto';
import { createSecureContext } from 'node:tls';
import type { ClientPair } from '../model.ts';

/** Why the Secret with a certificate for endpoints cannot be used. */
export class InvalidClientPairError extends Error {
  override readonly name = 'InvalidClientPairError';
}

/**
 * Reads the certificate that the router shows to endpoints (`tls.crt` and `tls.key`), and the authorities of endpoints (`ca.crt`). Throws
 * InvalidClientPairError if anything in these keys cannot be read.
 */
export function readClientPair(
  data: Readonly<Record<string, string>>,
  needsAuthorities: boolean,
): ClientPair {
  const text = (key: string): string => Buffer.from(data[key] ?? '', 'base64').toString('latin1');
  const [certificate, key, authorities] = [text('tls.crt'), text('tls.key'), text('ca.crt')];
  if (needsAuthorities && authorities === '')
    throw new InvalidClientPairError('its key ca.crt, with the authorities of endpoints, is missing');
  if (authorities === '' && certificate === '')
    throw new InvalidClientPairError('it has neither the keys tls.crt and tls.key nor the key ca.crt');
  if ((certificate === '') !== (key === ''))
    throw new InvalidClientPairError('it must have both of the keys tls.crt and tls.key, or none of them');
  if (authorities !== '') attempt('its key ca.crt cannot be read', () => new X509Certificate(authorities));
  attempt('its keys tls.crt, tls.key and ca.crt cannot be used together', () =>
    createSecureContext({
      ...(certificate !== '' && { cert: certificate, key }),
      ...(authorities !== '' && { ca: authorities }),
    }),
  );
  return {
    ...(certificate !== '' && { certificate, key }),
    ...(authorities !== '' && { authorities }),
  };
}

function attempt(message: string, read: () => unknown): void {
  try {
    read();
  } catch (error) {
    throw new InvalidClientPairError(message, { cause: error });
  }
}
