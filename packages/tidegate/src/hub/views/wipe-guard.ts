import { isNotFound, type KubeClient, type Logger, NODES, qualifiedName } from '@tidegate/kube';
import type { View, ViewItem, ViewKey } from './view.ts';
import { NODE, selectOf } from './view-key.ts';

export interface WipeGuardOptions {
  /** With the node's credentials. */
  client: KubeClient;
  nodeName: string;
  /** The uid that this node had when it was last seen. */
  knownUid(): Promise<string | undefined>;
  log: Logger;
  onDoubt(key: ViewKey): void;
}

/** Whether a list may replace a view. */
export type WipeGuard = (
  view: Pick<View, 'key' | 'size'>,
  list: readonly ViewItem[],
  signal: AbortSignal,
) => Promise<boolean>;

const GUARDED = new Set(['pods', 'secrets', 'configmaps', 'nodes']);

export const isGuarded = ({ identity, resource: { group, resource } }: ViewKey): boolean =>
  identity === NODE && group === '' && GUARDED.has(resource);

/**
 * Stands between a broken API server and what the kubelet runs on: an empty list would make it stop every pod. Such a
 * list is believed when a second one says the same, and the server still knows this very node.
 */
export function wipeGuard({ client, nodeName, knownUid, log, onDoubt }: WipeGuardOptions): WipeGuard {
  const whyNot = async ({ key }: Pick<View, 'key'>, signal: AbortSignal): Promise<string | undefined> => {
    // Without a resourceVersion the answer is what the server's majority has, not what one cache has.
    const second = await client.listPage(key.resource, { ...selectOf(key), limit: 1, signal });
    if (second.items.length > 0) return 'a second list is not empty';
    try {
      const { kind, metadata } = await client.get(NODES, { name: nodeName }, { signal });
      if (kind !== 'Node' || metadata.name !== nodeName)
        return 'the server answers with something else than this node';
      const uid = await knownUid();
      if (uid !== undefined && uid !== metadata.uid) return 'the node of this name is another one';
    } catch (error) {
      if (!isNotFound(error)) throw error;
      return 'the server does not know this node';
    }
    return undefined;
  };
  return async (view, list, signal) => {
    if (list.length > 0 || view.size === 0 || !isGuarded(view.key)) return true;
    const why = await whyNot(view, signal);
    if (why === undefined) return true;
    onDoubt(view.key);
    const resource = qualifiedName(view.key.resource);
    log.error(
      { resource, objects: view.size, why },
      'an empty list is not believed; the view stays as it is',
    );
    return false;
  };
}
