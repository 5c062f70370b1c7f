import { type Clock, PODS, sleep } from '@tidegate/kube';
import { objectOf, type Views } from '../views/index.ts';
import type { IssuedTokens } from './issued-tokens.ts';

const EVERY_MS = 10 * 60_000;

/** Forgets the tokens of pods that are gone, until the signal is aborted. */
export async function keepTokensOfPods(
  tokens: IssuedTokens,
  views: Views,
  nodeName: string,
  clock: Clock,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    await sleep(clock, EVERY_MS, signal).catch(() => {}); // Rejects only when aborted: the loop ends.
    const key = { identity: 'node', resource: PODS, namespace: '', labelSelector: '' };
    const held = views.find({ ...key, fieldSelector: `spec.nodeName=${nodeName}` });
    // Only who knows all pods of the node knows which are gone.
    if (held?.view.state === 'following') {
      const uids = [...held.view.items()].map((item) => objectOf(item).metadata.uid ?? '');
      tokens.forgetExcept(new Set(uids));
    }
    held?.release();
  }
}
