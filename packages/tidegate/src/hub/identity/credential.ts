import type { UpstreamCredential } from '../upstream/index.ts';
import type { Identity } from './identity.ts';

/** On whose behalf a request of this identity goes on. */
export const credentialOf = (identity: Identity): UpstreamCredential => {
  if (identity.kind === 'node') return 'node';
  return identity.kind === 'bearer' ? { token: identity.token } : 'none';
};
