import { humanDuration, type KubeObject } from '@tidegate/kube';
import { define, statusOf } from '../define.ts';
import { ageColumn, nameColumn } from '../table.ts';
import { timestamp } from '../timestamp.ts';
import type { RequestContext } from '../types.ts';
import { nameIsPathSegment } from '../validation/names.ts';
import type { CertificateSigningRequest } from './types.ts';
import {
  validateSigningRequest,
  validateSigningRequestStatus,
  validateSigningRequestUpdate,
} from './validate.ts';

const GROUP = 'certificates.k8s.io';
const VIEW = statusOf(GROUP, 'v1', 'CertificateSigningRequest').status;

export const certificatesigningrequests = define<CertificateSigningRequest>({
  group: GROUP,
  kind: 'CertificateSigningRequest',
  plural: 'certificatesigningrequests',
  namespaced: false,
  shortNames: ['csr'],
  parts: ['spec', 'status'],
  name: nameIsPathSegment,
  subresources: {
    status: { ...VIEW, prepareForUpdate: prepareStatus },
    approval: { ...VIEW, prepareForUpdate: prepareApproval },
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
  validateStatusUpdate: validateSigningRequestStatus,
});

/** The subresource `approval` changes only the conditions, and metadata. */
function prepareApproval(object: KubeObject, before: KubeObject, { now }: RequestContext): void {
  const request = object as CertificateSigningRequest;
  const old = before as CertificateSigningRequest;
  const conditions = withTimes(request, old, now);
  request.spec = old.spec;
  request.status = { ...old.status, ...(conditions && { conditions }) };
}

/** The subresource `status` cannot approve. A repeated approval keeps its content, so that only real changes are errors. */
function prepareStatus(object: KubeObject, before: KubeObject, { now }: RequestContext): void {
  const request = object as CertificateSigningRequest;
  const old = before as CertificateSigningRequest;
  request.status ??= {};
  for (const type of ['Approved', 'Denied']) {
    const kept = (old.status.conditions ?? []).filter((condition) => condition.type === type);
    const given = (request.status.conditions ?? []).filter((condition) => condition.type === type);
    if (kept.length !== given.length) continue;
    given.forEach((condition, i) => {
      Object.assign(condition, kept[i]);
    });
  }
  const conditions = withTimes(request, old, now);
  if (conditions !== undefined) request.status.conditions = conditions;
}

/** A condition whose status has not changed keeps the time of its last transition. */
function withTimes(
  request: CertificateSigningRequest,
  old: CertificateSigningRequest,
  now: Date,
): CertificateSigningRequest['status']['conditions'] {
  return request.status?.conditions?.map((condition) => {
    const before = old.status.conditions?.find(
      ({ type, status }) => type === condition.type && status === condition.status,
    );
    return {
      ...condition,
      lastUpdateTime: condition.lastUpdateTime ?? timestamp(now),
      lastTransitionTime: condition.lastTransitionTime ?? before?.lastTransitionTime ?? timestamp(now),
    };
  });
}

function conditionWords({ status }: CertificateSigningRequest): string {
  const has = (type: string): boolean =>
    (status.conditions ?? []).some((condition) => condition.type === type);
  const decision = has('Denied') ? 'Denied' : has('Approved') ? 'Approved' : 'Pending';
  return [decision, ...(has('Failed') ? ['Failed'] : []), ...(status.certificate ? ['Issued'] : [])].join(
    ',',
  );
}
