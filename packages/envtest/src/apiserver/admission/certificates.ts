/** The certificate admission plugins: CertificateApproval, CertificateSigning and CertificateSubjectRestriction. */
import { isDeepStrictEqual } from 'node:util';
import type { KubeObject } from '@tidegate/kube';
import { parseSigningRequest, type Subject } from '@tidegate/kube/certificates';
import type { Authorizer } from '../auth/authorization.ts';
import { MASTERS } from '../auth/identity.ts';
import type { AdmissionAttributes } from '../operations/core.ts';
import { refusal } from '../operations/refusal.ts';
import type { UserInfo } from '../resources/types.ts';
import { type Plugin, resourceOf } from './plugin.ts';

const CLIENT_SIGNER = 'kubernetes.io/kube-apiserver-client';

interface SigningRequest extends KubeObject {
  spec: { signerName: string; request: string };
  status?: { certificate?: string; conditions?: unknown[] };
}

export function certificates(authorizer: Authorizer): Plugin {
  return (attributes) => {
    if (resourceOf(attributes) !== 'certificates.k8s.io/certificatesigningrequests') return;
    const { operation, subresource, user } = attributes;
    const object = attributes.object as SigningRequest | undefined;
    const old = attributes.oldObject as SigningRequest | undefined;
    if (operation === 'CREATE' && object?.spec.signerName === CLIENT_SIGNER) {
      // An approver of client certificates must not be able to create a superuser.
      if (requestedSubject(attributes).organizations.includes(MASTERS)) {
        throw refusal(attributes, `use of ${CLIENT_SIGNER} signer with system:masters group is not allowed`);
      }
      return;
    }
    if (operation !== 'UPDATE' || object === undefined || old === undefined) return;
    const signer = old.spec.signerName;
    if (subresource === 'approval' && !mayUse(authorizer, user, 'approve', signer)) {
      throw refusal(
        attributes,
        `user not permitted to approve requests with signerName ${JSON.stringify(signer)}`,
      );
    }
    if (subresource === 'status' && signs(object, old) && !mayUse(authorizer, user, 'sign', signer)) {
      throw refusal(
        attributes,
        `user not permitted to sign requests with signerName ${JSON.stringify(signer)}`,
      );
    }
  };
}

/** The subject of the requested certificate. */
export function requestedSubject(attributes: AdmissionAttributes): Subject {
  try {
    return parseSigningRequest((attributes.object as SigningRequest).spec.request).subject;
  } catch (error) {
    throw refusal(attributes, `failed to parse CSR: ${(error as Error).message}`);
  }
}

/** Whether an update of the status issues a certificate or reports that signing failed. */
const signs = (object: SigningRequest, old: SigningRequest): boolean =>
  object.status?.certificate !== old.status?.certificate ||
  !isDeepStrictEqual(object.status?.conditions ?? [], old.status?.conditions ?? []);

/** Checks the permission for one signer or for all signers of a domain. */
function mayUse(authorizer: Authorizer, user: UserInfo, verb: string, signer: string): boolean {
  const domain = `${signer.slice(0, signer.indexOf('/'))}/*`;
  return [signer, domain].some(
    (name) =>
      authorizer.authorize(user, {
        verb,
        group: 'certificates.k8s.io',
        resource: 'signers',
        subresource: '',
        namespace: '',
        name,
      }).allowed,
  );
}
