import { type Clock, PODS, sleep } from '@tidegate/kube';
import { objectOf, type Views } from '../views/index.ts';
import type { IssuedTokens } from './issued-tokens.ts';

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
    const key = { identity: 'node', resource: PODS, namespace: '', labelSelector: '' };
    const held = views.find({ ...key, fieldSelector: `spec.nodeName=${nodeName}` });
    // Only a view that follows the API server contains all pods of the node. A pod that is missing in another
    // view may exist.
    if (held?.view.state === 'following') {
      const uids = [...held.view.items()].map((item) => objectOf(item).metadata.uid ?? '');
      tokens.forgetExcept(new Set(uids));
    }
    held?.release();
  }
}
