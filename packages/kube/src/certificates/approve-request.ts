import type { KubeClient } from '../client/client.ts';
import { isConflict, isNotFound } from '../client/errors.ts';
import { CERTIFICATE_SIGNING_REQUESTS, type CertificateSigningRequest } from '../kinds/kinds.ts';

/** Approves a request. Returns false if it was changed or deleted meanwhile. */
export async function approveRequest(
  client: KubeClient,
  csr: CertificateSigningRequest,
  why: { reason: string; message: string },
  signal: AbortSignal,
): Promise<boolean> {
  const conditions = [...(csr.status?.conditions ?? []), { type: 'Approved', status: 'True', ...why }];
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
