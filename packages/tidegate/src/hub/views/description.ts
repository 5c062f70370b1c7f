import { qualifiedName } from '@tidegate/kube';
import type { ManagedView } from './managed-view.ts';
import type { View } from './view.ts';

/** One view, for the admin endpoint of the hub. */
export interface ViewDescription {
  identity: string;
  resource: string;
  namespace: string;
  labelSelector: string;
  fieldSelector: string;
  state: View['state'];
  resourceVersion: string;
  objects: number;
  bytes: number;
  /** How many requests hold the view. */
  clients: number;
  /** When the last list, event or bookmark arrived. Empty if none did. */
  lastReceived: string;
  /** Why the API server, or the size limit, refused the view. */
  refused?: string;
}

export function description(view: ManagedView): ViewDescription {
  const { key, progress, holders, isFollowed, refusal } = view;
  const { identity, resource, namespace, labelSelector, fieldSelector } = key;
  return {
    identity,
    resource: `${qualifiedName(resource)}/${resource.version}`,
    namespace,
    labelSelector,
    fieldSelector,
    state: progress === undefined ? 'empty' : isFollowed ? 'following' : 'stored',
    resourceVersion: progress?.resourceVersion ?? '',
    objects: progress?.size ?? 0,
    bytes: progress?.bytes ?? 0,
    clients: holders,
    lastReceived: progress === undefined ? '' : new Date(progress.receivedAt).toISOString(),
    ...(refusal === undefined ? {} : { refused: refusal.message }),
  };
}
