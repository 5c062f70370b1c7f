import { isJsonMap, type JsonMap } from '@tidegate/kube';
/** Bearer tokens: reads the header, and the parts of a JWT. */

/** The token in an Authorization header; undefined if it has none or uses another scheme. */
export function bearerToken(authorization: string | undefined): string | undefined {
  const [scheme = '', token = ''] = (authorization ?? '').trim().split(' ');
  return scheme.toLowerCase() === 'bearer' && token !== '' ? token : undefined;
}

/** The header (0) or the claims (1) of a compact JWT, not verified; undefined if the text is not a JWT. */
export function jwtPart(token: string, part: 0 | 1): JsonMap | undefined {
  const parts = token.split('.');
  if (parts.length !== 3) return undefined;
  try {
    const value: unknown = JSON.parse(Buffer.from(parts[part]!, 'base64url').toString());
    return isJsonMap(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
