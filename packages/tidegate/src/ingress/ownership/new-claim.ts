import { createHash } from 'node:crypto';
import { apiVersionOf } from '@tidegate/kube';
import { ALL_HOSTS, HOST_CLAIMS, type HostClaim, type HostClaimSpec } from '../../api/index.ts';

const MOST_NAME_LENGTH = 253;

/**
 * Every host of a class has exactly one name, so the API server itself rejects a second claim to it. The name starts with
 * the host for readers; the digest makes it unique. A claim to `*` has the namespace in its name, because it is shared.
 */
function hostClaimName({ ingressClassName, host, namespace }: Omit<HostClaimSpec, 'since'>): string {
  const identity = [ingressClassName, host, ...(host === ALL_HOSTS ? [namespace] : [])].join('\n');
  const digest = createHash('sha256').update(identity).digest('hex').slice(0, 16);
  const readable = host
    .replace(/^\*/, 'all')
    .slice(0, MOST_NAME_LENGTH - digest.length - 1)
    .replace(/[^a-z0-9]+$/, '');
  return `${readable}-${digest}`;
}

/** The object that records a claim. */
export const newHostClaim = (spec: HostClaimSpec): HostClaim => ({
  apiVersion: apiVersionOf(HOST_CLAIMS.group, HOST_CLAIMS.version),
  kind: 'HostClaim',
  metadata: { name: hostClaimName(spec) },
  spec,
});
