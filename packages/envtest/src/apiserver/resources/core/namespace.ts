import type { KubeObject } from '@tidegate/kube';
import { define, statusOf } from '../define.ts';
import { ageColumn, nameColumn } from '../table.ts';
import type { SubresourceHandler } from '../types.ts';
import { nameIsLabel } from '../validation/names.ts';

export interface Namespace extends KubeObject {
  spec: { finalizers?: string[] };
  status: { phase?: string };
}

const FINALIZER = 'kubernetes';
const NAME_LABEL = 'kubernetes.io/metadata.name';

/** The subresource `namespaces/finalize`, the only way to change spec.finalizers. */
const finalize: SubresourceHandler = async ({ parent, body }) => {
  const { spec } = body as Namespace;
  return { replace: { ...parent, spec: { ...spec } } };
};

export const namespaces = define<Namespace>({
  kind: 'Namespace',
  plural: 'namespaces',
  namespaced: false,
  shortNames: ['ns'],
  returnsDeleted: true,
  parts: ['spec', 'status'],
  // No deletecollection, as in kube-apiserver.
  verbs: ['create', 'delete', 'get', 'list', 'patch', 'update', 'watch'],
  name: nameIsLabel,
  subresources: {
    ...statusOf('', 'v1', 'Namespace'),
    finalize: { group: '', version: 'v1', kind: 'Namespace', verbs: ['update'], handle: finalize },
  },
  table: [
    nameColumn,
    { name: 'Status', description: 'The status of the namespace', cell: ({ status }) => status.phase ?? '' },
    ageColumn,
  ],
  selectableFields: ({ metadata, status }) => ({
    name: metadata.name ?? '',
    'status.phase': status.phase ?? '',
  }),
  defaults({ metadata, status }) {
    if (metadata.name) metadata.labels = { ...metadata.labels, [NAME_LABEL]: metadata.name };
    status.phase ||= 'Active';
  },
  prepareForCreate(namespace) {
    const { metadata, spec } = namespace;
    namespace.status = { phase: 'Active' };
    spec.finalizers = [...new Set([...(spec.finalizers ?? []), FINALIZER])];
    metadata.labels = { ...metadata.labels, [NAME_LABEL]: metadata.name ?? '' };
  },
  prepareForUpdate(namespace, old) {
    namespace.spec.finalizers = old.spec.finalizers;
  },
});
