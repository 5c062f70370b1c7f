/**
 * Signs approved certificate requests according to the rules of the three kubernetes.io signers that use the cluster
 * CA, and approves the requests of kubelets. Pure: the caller stores the results.
 */

import { type KubeObject, ownField } from '@tidegate/kube';
import {
  type CertificateRequestInfo,
  type ExtendedUsage,
  type ParsedSigningRequest,
  parseSigningRequest,
} from '@tidegate/kube/certificates';
import type { UserInfo } from '../../resources/types.ts';
import type { Authorizer } from '../authorization.ts';
import { NODES } from '../identity.ts';
import type { Pki } from '../pki.ts';

const MAX_SECONDS = 365 * 24 * 3600;
const MIN_SECONDS = 600;
/** How far in the past certificates become valid. */
const BACKDATE_SECONDS = 300;
/** For certificates with a shorter lifetime, five minutes of clock skew at the end would be too much. */
const SHORT_SECONDS = 8 * 3600;

interface Condition {
  type: string;
  status: string;
  reason?: string;
  message?: string;
  lastUpdateTime?: string;
  lastTransitionTime?: string;
}

interface CsrObject extends KubeObject {
  spec: {
    request: string;
    signerName: string;
    usages?: string[];
    expirationSeconds?: number;
    username?: string;
    uid?: string;
    groups?: string[];
    extra?: Record<string, string[]>;
  };
  status?: { conditions?: Condition[]; certificate?: string };
}

type Rule = (request: ParsedSigningRequest, usages: string[]) => string | undefined;

/**
 * Each signer with its rule, which returns the reason why a request is rejected. The rules are documented under
 * "Certificates and Certificate Signing Requests" in the Kubernetes documentation.
 */
const SIGNERS: Record<string, Rule> = {
  'kubernetes.io/kube-apiserver-client': checkClientUsages,
  'kubernetes.io/kube-apiserver-client-kubelet': checkKubeletClient,
  'kubernetes.io/kubelet-serving': checkKubeletServing,
};

/** The new state of a request that is ready to be signed; undefined if there is nothing to do. */
export function signRequest(object: KubeObject, pki: Pki, now: Date): KubeObject | undefined {
  const csr = object as CsrObject;
  const { spec, status = {} } = csr;
  const rule = ownField(SIGNERS, spec.signerName);
  if (rule === undefined || status.certificate) return undefined;
  if (!has(csr, 'Approved') || has(csr, 'Failed') || has(csr, 'Denied')) return undefined;
  const request = parseSigningRequest(spec.request);
  const usages = spec.usages ?? [];
  const problem = rule(request, usages);
  if (problem !== undefined) return withCondition(csr, 'Failed', 'SignerValidationFailure', problem, now);
  const certificate = pki.sign({
    subject: request.rawSubject,
    publicKey: request.publicKey,
    altNames: request.rawAltNames,
    ...usagesOf(usages),
    ...validity(spec.expirationSeconds, now),
  });
  return { ...csr, status: { ...status, certificate: Buffer.from(certificate).toString('base64') } };
}

/**
 * Approves requests of kubelets that RBAC authorizes through `certificatesigningrequests/nodeclient` or
 * `selfnodeclient`.
 */
export function approveRequest(
  object: KubeObject,
  authorizer: Authorizer,
  now: Date,
): KubeObject | undefined {
  const csr = object as CsrObject;
  const { spec } = csr;
  if (spec.signerName !== 'kubernetes.io/kube-apiserver-client-kubelet') return undefined;
  if (csr.status?.certificate || has(csr, 'Approved') || has(csr, 'Denied')) return undefined;
  const request = parseSigningRequest(spec.request);
  if (checkKubeletClient(request, spec.usages ?? []) !== undefined) return undefined;
  const { username = '', uid, groups = [], extra } = spec;
  const user: UserInfo = { username, uid, groups, extra };
  const may = (subresource: string): boolean =>
    authorizer.authorize(user, {
      verb: 'create',
      group: 'certificates.k8s.io',
      resource: 'certificatesigningrequests',
      subresource,
      namespace: '',
      name: '',
    }).allowed;
  const own = username === request.subject.commonName && may('selfnodeclient');
  if (!own && !may('nodeclient')) return undefined;
  const what = own ? 'self kubelet client certificate' : 'kubelet client certificate';
  return withCondition(
    csr,
    'Approved',
    'AutoApproved',
    `Auto approving ${what} after SubjectAccessReview.`,
    now,
  );
}

const has = (csr: CsrObject, type: string): boolean =>
  (csr.status?.conditions ?? []).some((condition) => condition.type === type && condition.status === 'True');

function withCondition(csr: CsrObject, type: string, reason: string, message: string, now: Date): KubeObject {
  const time = `${now.toISOString().slice(0, 19)}Z`;
  const condition: Condition = {
    type,
    status: 'True',
    reason,
    message,
    lastUpdateTime: time,
    lastTransitionTime: time,
  };
  return { ...csr, status: { ...csr.status, conditions: [...(csr.status?.conditions ?? []), condition] } };
}

function checkClientUsages(_request: ParsedSigningRequest, usages: string[]): string | undefined {
  const wrong = usages.find(
    (usage) => !['digital signature', 'key encipherment', 'client auth'].includes(usage),
  );
  if (wrong !== undefined) return `invalid usage for client certificate: ${wrong}`;
  return usages.includes('client auth')
    ? undefined
    : 'missing required usage for client certificate: client auth';
}

function checkKubeletClient(request: ParsedSigningRequest, usages: string[]): string | undefined {
  const { subject, altNames } = request;
  if (subject.organizations.join() !== NODES) return 'subject organization is not system:nodes';
  if (altNames.dns.length > 0) return 'DNS subjectAltNames are not allowed';
  if (altNames.email.length > 0) return 'Email subjectAltNames are not allowed';
  if (altNames.ip.length > 0) return 'IP subjectAltNames are not allowed';
  if (altNames.uri.length > 0) return 'URI subjectAltNames are not allowed';
  if (!subject.commonName.startsWith('system:node:'))
    return 'subject common name does not begin with system:node:';
  return checkUsages(usages, 'client auth');
}

function checkKubeletServing(request: ParsedSigningRequest, usages: string[]): string | undefined {
  const { subject, altNames } = request;
  if (subject.organizations.join() !== NODES) return 'subject organization is not system:nodes';
  if (altNames.dns.length === 0 && altNames.ip.length === 0) return 'DNS or IP subjectAltName is required';
  if (altNames.email.length > 0) return 'Email subjectAltNames are not allowed';
  if (altNames.uri.length > 0) return 'URI subjectAltNames are not allowed';
  const problem = checkUsages(usages, 'server auth');
  if (problem !== undefined) return problem;
  return subject.commonName.startsWith('system:node:')
    ? undefined
    : 'subject common name does not begin with system:node:';
}

/** Key encipherment is optional, because only RSA keys use it. */
function checkUsages(usages: string[], purpose: 'client auth' | 'server auth'): string | undefined {
  const given = [...new Set(usages)].filter((usage) => usage !== 'key encipherment').sort();
  if (given.join() === [purpose, 'digital signature'].sort().join()) return undefined;
  return `usages did not match [${[purpose, 'digital signature', 'key encipherment'].sort().join(' ')}]`;
}

function usagesOf(usages: string[]): Pick<CertificateRequestInfo, 'usages' | 'keyUsages'> {
  const purposes: [string, ExtendedUsage][] = [
    ['server auth', 'serverAuth'],
    ['client auth', 'clientAuth'],
  ];
  return {
    usages: purposes.filter(([name]) => usages.includes(name)).map(([, usage]) => usage),
    keyUsages: {
      digitalSignature: usages.includes('digital signature'),
      keyEncipherment: usages.includes('key encipherment'),
    },
  };
}

/**
 * The lifetime is that of the request within the limits. The start is in the past, for machines whose clock is
 * behind.
 */
function validity(asked: number | undefined, now: Date): { notBefore: Date; notAfter: Date } {
  const seconds = Math.min(Math.max(asked ?? MAX_SECONDS, MIN_SECONDS), MAX_SECONDS);
  const end = seconds < SHORT_SECONDS ? seconds : seconds - BACKDATE_SECONDS;
  return {
    notBefore: new Date(now.getTime() - BACKDATE_SECONDS * 1000),
    notAfter: new Date(now.getTime() + end * 1000),
  };
}
