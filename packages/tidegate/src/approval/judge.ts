import { isIP, SocketAddress } from 'node:net';
import type { CertificateSigningRequest } from '@tidegate/kube';
import { type ParsedSigningRequest, parseSigningRequest } from '@tidegate/kube/certificates';

export const KUBELET_SERVING = 'kubernetes.io/kubelet-serving';

/** By these names pods reach the API server, and so the hub that stands in for it on their node. */
export const KUBERNETES_NAMES: readonly string[] = [
  'kubernetes',
  'kubernetes.default',
  'kubernetes.default.svc',
  'kubernetes.default.svc.cluster.local',
];

export const LOOPBACK_NAMES: readonly string[] = ['localhost', '127.0.0.1', '::1'];

/** The names and addresses that may stand in the certificates of nodes. */
export interface ServingNames {
  /** That are the node's own; none when nothing is known of it. */
  of(node: string): readonly string[];
  /** That the hub of every node may have besides. */
  hubs: readonly string[];
}

export type Judgement = { approve: true; node: string } | { approve: false; why: string };

/**
 * Whether the serving certificate that a node asks for is the node's to have. Undefined when the request is none of our
 * business: another signer, or decided already. That somebody is the node they say is known from the API server, which
 * wrote `username` and `groups`. The node needs not be registered yet: its kubelet may do so through the very hub that
 * asks.
 */
export function judge(csr: CertificateSigningRequest, names: ServingNames): Judgement | undefined {
  const { signerName, username = '', groups = [], usages = [] } = csr.spec;
  const { conditions = [], certificate = '' } = csr.status ?? {};
  if (signerName !== KUBELET_SERVING || conditions.length > 0 || certificate !== '') return undefined;
  const node = username.startsWith('system:node:') ? username.slice('system:node:'.length) : '';
  if (node === '' || !groups.includes('system:nodes'))
    return leave(`${JSON.stringify(username)}, who asks, is not a node`);
  const wrong = wrongUsages(usages) ?? wrongRequest(csr, username, [...names.of(node), ...names.hubs]);
  return wrong === undefined ? { approve: true, node } : leave(wrong);
}

const leave = (why: string): Judgement => ({ approve: false, why });

/** With or without key encipherment, which only RSA keys have a use for. */
function wrongUsages(usages: readonly string[]): string | undefined {
  const given = new Set(usages);
  given.delete('key encipherment');
  return given.size === 2 && given.has('digital signature') && given.has('server auth')
    ? undefined
    : `its usages are ${usages.join(', ')}, and must be digital signature, server auth and perhaps key encipherment`;
}

function wrongRequest(
  csr: CertificateSigningRequest,
  username: string,
  allowed: readonly string[],
): string | undefined {
  let request: ParsedSigningRequest;
  try {
    request = parseSigningRequest(csr.spec.request);
  } catch (error) {
    return `spec.request can not be read: ${(error as Error).message}`;
  }
  const { subject, altNames } = request;
  if (subject.commonName !== username)
    return `its common name is ${JSON.stringify(subject.commonName)}, and must be that of who asks, ${username}`;
  if (subject.organizations.join() !== 'system:nodes')
    return `its organizations are ${JSON.stringify(subject.organizations)}, and must be system:nodes alone`;
  if (altNames.email.length + altNames.uri.length + altNames.others > 0)
    return 'it asks for names that are neither DNS names nor IP addresses';
  const asked = [...altNames.dns, ...altNames.ip];
  if (asked.length === 0) return 'it asks for no DNS name and no IP address';
  const known = new Set(allowed.map(canonical));
  const strange = asked.filter((name) => !known.has(canonical(name)));
  return strange.length === 0
    ? undefined
    : `not known to be the node's, or every hub's: ${strange.map((name) => JSON.stringify(name)).join(', ')}`;
}

const canonical = (name: string): string =>
  isIP(name) === 6 ? new SocketAddress({ address: name, family: 'ipv6' }).address : name.toLowerCase();
