import type { X509Certificate } from 'node:crypto';
import { subjectOf } from '@tidegate/kube/certificates';
import { nodeUser } from '../identity/index.ts';

const PREFIX = nodeUser('');

/**
 * The node that a certificate identifies: that of a kubelet, as a client or as a server. The chain must have been verified.
 * Undefined for all other certificates, also those with the name of a node but without its group.
 */
export function nodeOf(certificate: X509Certificate | undefined): string | undefined {
  if (certificate === undefined) return undefined;
  const { commonName, organizations } = subjectOf(certificate);
  if (!commonName.startsWith(PREFIX) || !organizations.includes('system:nodes')) return undefined;
  const name = commonName.slice(PREFIX.length);
  return name === '' ? undefined : name;
}
