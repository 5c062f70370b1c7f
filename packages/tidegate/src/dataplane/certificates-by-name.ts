import { X509Certificate } from 'node:crypto';
import { wildcardOf } from '../ingress/match/index.ts';
import type { Certificate, HostName } from '../ingress/model.ts';
import type { FailedHost, RouterSnapshot } from '../ingress/provisioners/index.ts';

export interface UsableCertificates {
  /** Without those that would be presented to clients of other tenants. */
  readonly certificates: ReadonlyMap<HostName, Certificate>;
  /** Hosts whose clients may get another certificate than the Ingresses say, or none. */
  readonly problems: ReadonlyMap<HostName, FailedHost>;
  /** Hosts that would be served with the certificate of another namespace: they are not served over HTTPS. */
  readonly closed: ReadonlySet<HostName>;
}

/**
 * Load balancers of clouds choose a certificate by the names in it, not by the host that it was assigned to. So a tenant could
 * write a name of another tenant into a certificate, and break HTTPS there: such a certificate is not used. `cloud` is the
 * name of the load balancers in messages.
 */
export function usableCertificates(
  { hosts, certificates: all }: Pick<RouterSnapshot, 'hosts' | 'certificates'>,
  cloud: string,
): UsableCertificates {
  const names = new Map([...all.values()].map((each) => [each, namesIn(each)]));
  const namesOf = (each: Certificate): ReadonlySet<string> => names.get(each) ?? new Set();
  const problems = new Map<HostName, FailedHost>();
  const certificates = new Map(all);
  for (const each of all.values()) {
    const other = hostOfOther(each, { hosts, certificates: all, namesOf });
    if (other === undefined) continue;
    certificates.delete(each.host);
    problems.set(each.host, notUsable(each, other, cloud));
  }
  const offered = new Map<string, Set<string>>();
  for (const each of certificates.values())
    if (each.host !== '')
      for (const name of namesOf(each))
        offered.set(name, (offered.get(name) ?? new Set()).add(each.fingerprint));
  const closed = new Set<HostName>();
  for (const host of hosts.keys()) {
    const assigned = assignedTo(host, certificates);
    const presented = offered.get(host) ?? offered.get(coveringOf(host) ?? '');
    if (host === '' || assigned === undefined || presented === undefined) continue;
    if (assigned.certificate === '') {
      closed.add(host);
      problems.set(host, ofOtherNamespace(cloud));
    } else if (presented.size > 1 || !presented.has(assigned.fingerprint))
      problems.set(host, ambiguous(cloud));
  }
  return { certificates, problems, closed };
}

const coveringOf = (host: HostName): HostName | undefined =>
  host.startsWith('*.') ? undefined : wildcardOf(host);

const assignedTo = (
  host: HostName,
  certificates: ReadonlyMap<HostName, Certificate>,
): Certificate | undefined => certificates.get(host) ?? certificates.get(coveringOf(host) ?? host);

/** A host of another namespace with a certificate of its own, whose clients could get this certificate. */
function hostOfOther(
  certificate: Certificate,
  {
    hosts,
    certificates,
    namesOf,
  }: Pick<RouterSnapshot, 'hosts' | 'certificates'> & {
    namesOf: (certificate: Certificate) => ReadonlySet<string>;
  },
): HostName | undefined {
  // That of the class is presented only if no other has the name.
  if (certificate.host === '' || certificate.certificate === '') return undefined;
  const namespace = certificate.secret.split('/')[0];
  const own = namesOf(certificate);
  const isOwned = (name: string): boolean => hosts.get(name)?.namespace === namespace;
  for (const { host, namespace: owner } of hosts.values()) {
    if (host === '' || owner === namespace) continue;
    const theirs = assignedTo(host, certificates);
    if (theirs === undefined || theirs.certificate === '' || theirs.fingerprint === certificate.fingerprint)
      continue;
    const covering = coveringOf(host) ?? '';
    const isBelow = own.has(covering) && !isOwned(covering) && !namesOf(theirs).has(host);
    if (own.has(host) || isBelow) return host;
  }
  return undefined;
}

const ambiguous = (cloud: string): FailedHost => ({
  reason: 'CertificateAmbiguous',
  message: `${cloud} chooses a certificate by the names in it, and another certificate of this load balancer also has this name. Clients get one of them. Use certificates without common names, or another class.`,
});

const ofOtherNamespace = (cloud: string): FailedHost => ({
  reason: 'CertificateOfOtherNamespace',
  message: `${cloud} would present the certificate of the wildcard above this host, which belongs to another namespace. Requests over HTTPS get the response 503. Use a certificate with the name of this host, or another class.`,
});

const notUsable = ({ secret }: Certificate, other: HostName, cloud: string): FailedHost => ({
  reason: 'CertificateNotUsable',
  message: `The certificate in Secret ${secret} also has the name of host ${other}, which belongs to another namespace, and ${cloud} would present it there. It is not used. Use a certificate with the names of your own hosts only.`,
});

/** Load balancers use the common name as well as the alternative names. The compiler has parsed the certificate before. */
function namesIn({ certificate }: Certificate): ReadonlySet<string> {
  try {
    const { subject = '', subjectAltName = '' } = new X509Certificate(certificate);
    const common = subject.split('\n').flatMap((line) => (line.startsWith('CN=') ? [line.slice(3)] : []));
    const other = subjectAltName
      .split(', ')
      .flatMap((entry) => (entry.startsWith('DNS:') ? [entry.slice(4)] : []));
    return new Set([...common, ...other].map((name) => name.toLowerCase()));
  } catch {
    return new Set();
  }
}
