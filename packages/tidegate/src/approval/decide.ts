import type { CertificateSigningRequest } from '@tidegate/kube';
import { type ParsedSigningRequest, parseSigningRequest } from '@tidegate/kube/certificates';
import { plainAddress } from '../pools/index.ts';

/** The signer of kubelet serving certificates. See "Kubernetes signers" in the Kubernetes documentation. */
export const KUBELET_SERVING = 'kubernetes.io/kubelet-serving';

/** The names at which pods connect to the API server. The hub serves its pods under the same names. */
export const KUBERNETES_NAMES: readonly string[] = [
  'kubernetes',
  'kubernetes.default',
  'kubernetes.default.svc',
  'kubernetes.default.svc.cluster.local',
];

/** Names of the node itself, for clients that run on the node. */
export const LOOPBACK_NAMES: readonly string[] = ['localhost', '127.0.0.1', '::1'];

/** The names and addresses that the certificate of a node may contain, besides the name of the node. */
export interface ServingNames {
  /** Why no other party than the node vouches for the address; undefined if one does. */
  refusalOf(node: string, address: string): string | undefined;
  /** Names and addresses that the hub of every node may use as well. */
  hubs: readonly string[];
}

/** `why` is a clause that completes the sentence "not approved: ...". */
export type ApprovalDecision = { approve: true; node: string } | { approve: false; why: string };

/**
 * Decides whether a node may have the serving certificate that it requests. Returns undefined if the request
 * is for another signer, or is decided already.
 *
 * The status of the Node proves nothing: the node writes it. A name counts only if another party vouches for it: the API
 * server for the name of the node, the administrator for addresses.
 *
 * The requester is known: the API server sets `spec.username` and `spec.groups` from the authenticated client
 * and ignores the values that a client sends. The Node object does not have to exist, because the kubelet may
 * register the node through the same hub that sends the request.
 */
export function decide(csr: CertificateSigningRequest, names: ServingNames): ApprovalDecision | undefined {
  const { signerName, username = '', groups = [], usages = [] } = csr.spec;
  const { conditions = [], certificate = '' } = csr.status ?? {};
  if (signerName !== KUBELET_SERVING || conditions.length > 0 || certificate !== '') return undefined;
  const node = username.startsWith('system:node:') ? username.slice('system:node:'.length) : '';
  if (node === '' || !groups.includes('system:nodes'))
    return leave(`spec.username ${JSON.stringify(username)} is not a node`);
  const wrong = wrongUsages(usages) ?? wrongRequest(csr, username, node, names);
  return wrong === undefined ? { approve: true, node } : leave(wrong);
}

const leave = (why: string): ApprovalDecision => ({ approve: false, why });

/** Accepts usages with or without `key encipherment`, which only RSA keys need. */
function wrongUsages(usages: readonly string[]): string | undefined {
  const given = new Set(usages);
  given.delete('key encipherment');
  return given.size === 2 && given.has('digital signature') && given.has('server auth')
    ? undefined
    : `spec.usages is ${JSON.stringify(usages)}; it must be "digital signature", "server auth" and, optionally, "key encipherment"`;
}

/**
 * Applies the rules of the signer `kubernetes.io/kubelet-serving` to the subject and the names of the
 * request.
 */
function wrongRequest(
  csr: CertificateSigningRequest,
  username: string,
  node: string,
  names: ServingNames,
): string | undefined {
  let request: ParsedSigningRequest;
  try {
    request = parseSigningRequest(csr.spec.request);
  } catch (error) {
    return `spec.request cannot be parsed: ${(error as Error).message}`;
  }
  const { subject, altNames } = request;
  if (subject.commonName !== username)
    return `the common name in spec.request is ${JSON.stringify(subject.commonName)}; it must be the requester, ${username}`;
  if (subject.organizations.join() !== 'system:nodes')
    return `the organizations in spec.request are ${JSON.stringify(subject.organizations)}; they must be ["system:nodes"]`;
  if (altNames.email.length + altNames.uri.length + altNames.others > 0)
    return 'spec.request contains names that are neither DNS names nor IP addresses';
  const asked = [...altNames.dns, ...altNames.ip];
  if (asked.length === 0) return 'spec.request contains no DNS name and no IP address';
  // A node that joins chooses its name, and an address is a valid name. The name vouches for a DNS name only.
  const own = plainAddress(node) === undefined ? [node] : [];
  const known = new Set([...own, ...names.hubs].map(canonical));
  const refused = asked
    .filter((name) => !known.has(canonical(name)))
    .flatMap((name) => {
      const why = refusalOf(node, name, names);
      return why === undefined ? [] : [`${JSON.stringify(name)} (${why})`];
    });
  return refused.length === 0
    ? undefined
    : `spec.request contains names that no other party than the node vouches for: ${refused.join(', ')}`;
}

function refusalOf(node: string, name: string, names: ServingNames): string | undefined {
  const address = plainAddress(name);
  if (address === undefined) return 'the only DNS name of a node is its own name';
  return names.refusalOf(node, address);
}

/** IPv6 addresses have several spellings, and DNS names are case-insensitive. */
const canonical = (name: string): string => plainAddress(name) ?? name.toLowerCase();
