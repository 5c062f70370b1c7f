import type { UpstreamCredential } from '../upstream/index.ts';
import type { Identity } from './identity.ts';

/** The credentials with which the hub forwards a request of this identity to the API server. */
export const credentialOf = (identity: Identity): UpstreamCredential => {
  if (identity.kind === 'node') return 'node';
  return identity.kind === 'bearer' ? { token: identity.token } : 'none';
};
