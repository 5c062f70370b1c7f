/** Rejects creates in namespaces that do not exist or are terminating, and deletes of the system namespaces. */
import { notFound } from '@tidegate/serving';
import { refusal } from '../operations/refusal.ts';
import type { Store } from '../store/types.ts';
import type { Plugin } from './plugin.ts';

const IMMORTAL = ['default', 'kube-system', 'kube-public'];

export function namespaceLifecycle(store: Store): Plugin {
  return (attributes) => {
    const { operation, served, namespace, name } = attributes;
    const { group, kind } = served.definition;
    if (group === '' && kind === 'Namespace') {
      if (operation === 'DELETE' && IMMORTAL.includes(name)) {
        throw refusal(attributes, 'this namespace may not be deleted');
      }
      return;
    }
    if (namespace === '' || operation === 'DELETE') return;
    // An access review must not reveal whether a namespace exists.
    if (kind === 'LocalSubjectAccessReview') return;
    const entry = store.get({ resource: 'namespaces', namespace: '', name: namespace });
    if (entry === undefined) throw notFound({ group: '', resource: 'namespaces' }, namespace);
    if (operation !== 'CREATE') return;
    const { status } = JSON.parse(entry.value.toString()) as { status?: { phase?: string } };
    if (status?.phase !== 'Terminating') return;
    const error = refusal(
      attributes,
      `unable to create new content in namespace ${namespace} because it is being terminated`,
    );
    error.status.details = {
      ...error.status.details,
      causes: [
        {
          reason: 'NamespaceTerminating',
          message: `namespace ${namespace} is being terminated`,
          field: 'metadata.namespace',
        },
      ],
    };
    throw error;
  };
}
