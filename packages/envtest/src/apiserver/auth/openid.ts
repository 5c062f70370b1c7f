/** The OpenID Connect discovery documents, with which other programs can verify service account tokens. */
import type { JsonWebKeySet, ServiceAccountKey } from './service-account-key.ts';

export const JWKS_PATH = '/openid/v1/jwks';
export const OPENID_CONFIGURATION_PATH = '/.well-known/openid-configuration';

export interface OpenIdDocuments {
  configuration: Record<string, unknown>;
  jwks: JsonWebKeySet;
}

/** `server` is the URL under which clients reach this server, for example `https://127.0.0.1:6443`. */
export function openIdDocuments(key: ServiceAccountKey, issuer: string, server: string): OpenIdDocuments {
  return {
    configuration: {
      issuer,
      jwks_uri: new URL(JWKS_PATH, server).href,
      response_types_supported: ['id_token'],
      subject_types_supported: ['public'],
      id_token_signing_alg_values_supported: [key.algorithm],
    },
    jwks: key.jwks(),
  };
}
