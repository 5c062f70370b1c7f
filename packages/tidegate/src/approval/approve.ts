import type { CertificateSigningRequest, KubeClient } from '@tidegate/kube';
import { approveRequest } from '@tidegate/kube/certificates';

/**
 * Approves a CertificateSigningRequest that `decide` accepted. Resolves to false if another client changed or
 * deleted the request in the meantime.
 */
export const approve = (
  client: KubeClient,
  csr: CertificateSigningRequest,
  message: string,
  signal: AbortSignal,
): Promise<boolean> => approveRequest(client, csr, { reason: 'NamesKnown', message }, signal);
