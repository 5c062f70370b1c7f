import { isNotFound, type KubeClient, type Logger, NODES, qualifiedName } from '@tidegate/kube';
import type { View, ViewItem, ViewKey } from './view.ts';
import { NODE, selectOf } from './view-key.ts';

export interface WipeGuardOptions {
  /** A client with the node's credentials. */
  client: KubeClient;
  nodeName: string;
  /** The uid of the Node object that the hub has stored. Undefined: none is stored. */
  knownUid(): Promise<string | undefined>;
  log: Logger;
  /** Called for each list that is rejected. */
  onRejected(key: ViewKey): void;
}

/** Decides whether a list from an API server may replace the objects of a view. Rejects if it cannot find out. */
export type WipeGuard = (
  view: Pick<View, 'key' | 'size'>,
  list: readonly ViewItem[],
  signal: AbortSignal,
) => Promise<boolean>;

const GUARDED = new Set(['pods', 'secrets', 'configmaps', 'nodes']);

export const isGuarded = ({ identity, resource: { group, resource } }: ViewKey): boolean =>
  identity === NODE && group === '' && GUARDED.has(resource);

/**
 * Protects the pods of the node from a broken API server. If the kubelet receives an empty list of pods, it stops every
 * pod, and an empty list may come from a server with a lost or wrong database, or from a proxy. So an empty list does not
 * replace a view that has objects, unless a second list is empty too and the server knows the Node object of this node,
 * with the same uid.
 */
export function wipeGuard({ client, nodeName, knownUid, log, onRejected }: WipeGuardOptions): WipeGuard {
  const whyNot = async ({ key }: Pick<View, 'key'>, signal: AbortSignal): Promise<string | undefined> => {
    // A list without a resourceVersion is consistent with a quorum of etcd. It does not come from a stale watch cache.
    // https://kubernetes.io/docs/reference/using-api/api-concepts/#semantics-for-get-and-list
    const second = await client.listPage(key.resource, { ...selectOf(key), limit: 1, signal });
    if (second.items.length > 0) return 'a second list is not empty';
    try {
      const { kind, metadata } = await client.get(NODES, { name: nodeName }, { signal });
      if (kind !== 'Node' || metadata.name !== nodeName)
        return 'the API server returns an object that is not this Node';
      const uid = await knownUid();
      if (uid !== undefined && uid !== metadata.uid)
        return 'the API server has a Node with this name and another uid';
    } catch (error) {
      if (!isNotFound(error)) throw error;
      return 'the API server does not have this Node';
    }
    return undefined;
  };
  return async (view, list, signal) => {
    if (list.length > 0 || view.size === 0 || !isGuarded(view.key)) return true;
    const why = await whyNot(view, signal);
    if (why === undefined) return true;
    onRejected(view.key);
    const resource = qualifiedName(view.key.resource);
    log.error(
      { resource, objects: view.size, why },
      'rejected an empty list from the API server, which would delete all objects of the view; the hub keeps the stored objects and lists again',
    );
    return false;
  };
}
