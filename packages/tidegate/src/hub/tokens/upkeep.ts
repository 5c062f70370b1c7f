import { type Clock, sleep } from '@tidegate/kube';
import type { ServiceAccountClaims } from '../identity/index.ts';
import { objectOf, podsOfNode, type Views } from '../views/index.ts';
import type { IssuedTokens } from './issued-tokens.ts';

/**
 * Whether the pod that a token is bound to has left the node, as far as the hub knows: the kubelet reads the pods of the
 * node through the hub. A token of a pod of another node counts as well, because only pods of this node can reach the hub.
 */
export async function podIsGone(
  views: Pick<Views, 'lookUp'>,
  nodeName: string,
  { namespace, pod }: ServiceAccountClaims,
): Promise<boolean> {
  if (pod === undefined) return false;
  const known = await views.lookUp(podsOfNode(nodeName), `${namespace}/${pod.name}`);
  if (known.result === 'found') return objectOf(known.item).metadata.uid !== pod.uid;
  return known.result === 'absent';
}

const INTERVAL_MS = 10 * 60_000;

/** Deletes the tokens of pods that have left the node, until the signal is aborted. */
export async function keepTokensOfPods(
  tokens: IssuedTokens,
  views: Views,
  nodeName: string,
  clock: Clock,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    await sleep(clock, INTERVAL_MS, signal).catch(() => {}); // Rejects when aborted.
    const held = views.find(podsOfNode(nodeName));
    // Only a view that follows the API server contains all pods of the node. A pod that is missing in another
    // view may exist.
    if (held?.view.state === 'following') {
      const uids = [...held.view.items()].map((item) => objectOf(item).metadata.uid ?? '');
      tokens.forgetExcept(new Set(uids));
    }
    held?.release();
  }
}
