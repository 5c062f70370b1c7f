import { isUtf8 } from 'node:buffer';

/** The name and password of a request. */
export interface SentCredentials {
  readonly name: string;
  readonly password: string;
}

/** Beyond this, the hash of a password takes long, or ignores the rest. */
export const MOST_CREDENTIALS_BYTES = 1_024;

/**
 * Decodes the header Authorization (RFC 7617). Undefined if it is absent, or not valid: control characters are refused, because
 * the C library reads a password only up to the first NUL.
 */
export function credentialsOf(header: string | undefined): SentCredentials | undefined {
  const [, encoded] = /^basic +([A-Za-z0-9+/]+={0,2})$/i.exec(header ?? '') ?? [];
  if (encoded === undefined || encoded.length > MOST_CREDENTIALS_BYTES || encoded.length % 4 !== 0)
    return undefined;
  const bytes = Buffer.from(encoded, 'base64');
  // Otherwise different bytes would become the same replacement character.
  if (!isUtf8(bytes)) return undefined;
  const text = bytes.toString('utf8');
  const colon = text.indexOf(':');
  if (colon < 1 || hasControl(text)) return undefined;
  return { name: text.slice(0, colon), password: text.slice(colon + 1) };
}

const hasControl = (text: string): boolean =>
  [...text].some((character) => character < ' ' || character === '\x7f');
