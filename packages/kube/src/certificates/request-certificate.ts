import { childController } from '../base/clock.ts';
import type { KubeClient } from '../client/client.ts';
import { Informer } from '../informer/informer.ts';
import { CERTIFICATE_SIGNING_REQUESTS, type CertificateSigningRequest } from '../kinds/kinds.ts';
import { approveRequest } from './approve-request.ts';

export interface CertificateRequest {
  /** Prefix of the object's name; the server adds a suffix. */
  namePrefix: string;
  /** PEM, from `newSigningRequest`. */
  request: string;
  signerName: string;
  /** For example `digital signature` and `client auth`. */
  usages: string[];
  expirationSeconds?: number;
  /** Also approve the request, if the caller has the permission. */
  approve?: boolean;
  signal: AbortSignal;
}

/**
 * Requests a certificate from the cluster and returns it as PEM. Waits until the request is approved and signed, or
 * denied; abort `signal` to stop waiting.
 *
 * @example
 * const { key, request } = newSigningRequest({ commonName: 'system:node:n1', organizations: ['system:nodes'] });
 * const certificate = await requestCertificate(client, {
 *   namePrefix: 'node-n1-',
 *   request,
 *   signerName: 'kubernetes.io/kube-apiserver-client-kubelet',
 *   usages: ['digital signature', 'client auth'],
 *   signal,
 * });
 */
export async function requestCertificate(client: KubeClient, options: CertificateRequest): Promise<string> {
  const csr = await createRequest(client, options);
  const { controller, release } = childController(options.signal);
  const informer = new Informer(client, CERTIFICATE_SIGNING_REQUESTS, {
    fieldSelector: `metadata.name=${csr.metadata.name}`,
  });
  // A watch, not polling: approval can take days. The informer also survives disconnects.
  const certificate = new Promise<string>((resolve, reject) => {
    controller.signal.addEventListener('abort', () => reject(controller.signal.reason), { once: true });
    const look = (seen: CertificateSigningRequest): void => {
      settle(client, seen, options, controller.signal).then((issued) => {
        if (issued !== undefined) resolve(issued);
      }, reject);
    };
    const onDelete = (): void => reject(new Error(`${describe(csr)} was deleted before it was signed`));
    informer.addHandler({ onAdd: look, onUpdate: (_, seen) => look(seen), onDelete });
  });
  const watching = informer.run(controller.signal);
  try {
    return await certificate;
  } finally {
    controller.abort();
    release();
    await watching;
  }
}

function createRequest(client: KubeClient, options: CertificateRequest): Promise<CertificateSigningRequest> {
  const { namePrefix, request, signerName, usages, expirationSeconds, signal } = options;
  const object: CertificateSigningRequest = {
    apiVersion: 'certificates.k8s.io/v1',
    kind: 'CertificateSigningRequest',
    metadata: { generateName: namePrefix },
    spec: { request: Buffer.from(request).toString('base64'), signerName, usages, expirationSeconds },
  };
  return client.create(CERTIFICATE_SIGNING_REQUESTS, object, { signal });
}

/** The certificate, if it has been issued. Throws if it never will be. */
async function settle(
  client: KubeClient,
  csr: CertificateSigningRequest,
  { approve }: CertificateRequest,
  signal: AbortSignal,
): Promise<string | undefined> {
  const { certificate, conditions = [] } = csr.status ?? {};
  if (certificate !== undefined && certificate !== '') return Buffer.from(certificate, 'base64').toString();
  const bad = conditions.find(({ type, status }) => ['Denied', 'Failed'].includes(type) && status === 'True');
  if (bad !== undefined) {
    const why = [bad.reason, bad.message].filter(Boolean).join(': ');
    throw new Error(`${describe(csr)} was ${bad.type === 'Denied' ? 'denied' : 'not signed'}: ${why}`);
  }
  if (approve === true && !conditions.some(({ type }) => type === 'Approved')) {
    // On a conflict, another client, perhaps the approver of the cluster, was faster; its change arrives as the next
    // event.
    await approveRequest(client, csr, BY_REQUESTER, signal);
  }
  return undefined;
}

const BY_REQUESTER = {
  reason: 'ApprovedByRequester',
  message: 'Approved by the requester, which has the permission to approve.',
};

const describe = ({ metadata, spec }: CertificateSigningRequest): string =>
  `CertificateSigningRequest ${metadata.name} (${spec.signerName})`;
