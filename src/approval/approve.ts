import {
  CERTIFICATE_SIGNING_REQUESTS,
  type CertificateSigningRequest,
  isConflict,
  isNotFound,
  type KubeClient,
} from '../kube/index.ts';

/** Approves a request that was judged to be right. False when somebody else has changed or deleted it meanwhile. */
export async function approve(
  client: KubeClient,
  csr: CertificateSigningRequest,
  message: string,
  signal: AbortSignal,
): Promise<boolean> {
  const approval = { type: 'Approved', status: 'True', reason: 'NamesKnown', message };
  const conditions = [...(csr.status?.conditions ?? []), approval];
  try {
    await client.update(
      CERTIFICATE_SIGNING_REQUESTS,
      { ...csr, status: { ...csr.status, conditions } },
      { subresource: 'approval', signal },
    );
    return true;
  } catch (error) {
    if (isConflict(error) || isNotFound(error)) return false;
    throw error;
  }
}
