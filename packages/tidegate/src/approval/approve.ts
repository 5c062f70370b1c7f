import type { CertificateSigningRequest, KubeClient } from '@tidegate/kube';
import { approveRequest } from '@tidegate/kube/certificates';

/** Approves a request that was judged to be right. False when somebody else has changed or deleted it meanwhile. */
export const approve = (
  client: KubeClient,
  csr: CertificateSigningRequest,
  message: string,
  signal: AbortSignal,
): Promise<boolean> => approveRequest(client, csr, { reason: 'NamesKnown', message }, signal);
