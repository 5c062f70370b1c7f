import { humanDuration } from '@tidegate/kube';
import { define, statusOf } from '../define.ts';
import { ageColumn, nameColumn } from '../table.ts';
import type { RequestContext, SubresourceHandler } from '../types.ts';
import { nameIsPathSegment } from '../validation/names.ts';
import type { CertificateSigningRequest } from './types.ts';
import { validateSigningRequest, validateSigningRequestUpdate } from './validate.ts';

const GROUP = 'certificates.k8s.io';

export const certificatesigningrequests = define<CertificateSigningRequest>({
  group: GROUP,
  kind: 'CertificateSigningRequest',
  plural: 'certificatesigningrequests',
  namespaced: false,
  shortNames: ['csr'],
  parts: ['spec', 'status'],
  name: nameIsPathSegment,
  subresources: {
    ...statusOf(GROUP, 'v1', 'CertificateSigningRequest'),
    approval: {
      group: GROUP,
      version: 'v1',
      kind: 'CertificateSigningRequest',
      verbs: ['get', 'patch', 'update'],
      handle: approve(),
    },
  },
  table: [
    nameColumn,
    ageColumn,
    { name: 'SignerName', field: 'spec.signerName', cell: ({ spec }) => spec.signerName || '<none>' },
    { name: 'Requestor', field: 'spec.request', cell: ({ spec }) => spec.username ?? '' },
    {
      name: 'RequestedDuration',
      field: 'spec.expirationSeconds',
      cell: ({ spec }) =>
        spec.expirationSeconds === undefined ? '<none>' : humanDuration(spec.expirationSeconds * 1000),
    },
    { name: 'Condition', field: 'status.conditions', cell: conditionWords },
  ],
  selectableFields: ({ spec }) => ({ 'spec.signerName': spec.signerName ?? '' }),
  defaults: ({ status }) =>
    status.conditions?.forEach((condition) => {
      condition.status ||= 'True';
    }),
  prepareForCreate(request, { user }: RequestContext) {
    const { uid, groups, extra } = user;
    // Signers rely on the identity of the requester, so it always comes from the authenticated user.
    Object.assign(request.spec, { username: user.username, uid, groups, extra });
    request.status = {};
  },
  prepareForUpdate(request, old) {
    request.spec = old.spec;
  },
  validate: validateSigningRequest,
  validateUpdate: validateSigningRequestUpdate,
});

/** The subresource `approval` changes only the conditions. */
function approve(): SubresourceHandler {
  return async ({ verb, parent, body, context }) => {
    if (verb === 'get') return { respond: parent };
    const request = structuredClone(parent) as CertificateSigningRequest;
    const now = context.now.toISOString().replace(/\.\d+Z$/, 'Z');
    const conditions = ((body as CertificateSigningRequest).status?.conditions ?? []).map((condition) => ({
      ...condition,
      lastUpdateTime: condition.lastUpdateTime ?? now,
      lastTransitionTime: condition.lastTransitionTime ?? now,
    }));
    return { replace: { ...request, status: { ...request.status, conditions } } };
  };
}

function conditionWords({ status }: CertificateSigningRequest): string {
  const has = (type: string): boolean =>
    (status.conditions ?? []).some((condition) => condition.type === type);
  const decision = has('Denied') ? 'Denied' : has('Approved') ? 'Approved' : 'Pending';
  return [decision, ...(has('Failed') ? ['Failed'] : []), ...(status.certificate ? ['Issued'] : [])].join(
    ',',
  );
}
