import type { SwitchStep } from './switch-plan.ts';

/** How the webhook of ingress-nginx refuses a second Ingress with the same path. */
const IS_TAKEN = /already defined in ingress/;

/**
 * Performs the steps of one Ingress in their order. If the webhook of ingress-nginx refuses a copy next to the Ingress, the class is
 * changed first, and `swapped` is called before.
 */
export async function performSteps(
  [first, ...rest]: readonly SwitchStep[],
  perform: (step: SwitchStep) => Promise<void>,
  swapped: () => void,
): Promise<void> {
  if (first === undefined) return;
  const [next, ...later] = rest;
  try {
    await perform(first);
  } catch (error) {
    const isTaken = first.kind === 'create' && IS_TAKEN.test((error as Error).message);
    if (!isTaken || next?.kind !== 'setClass') throw error;
    swapped();
    await perform(next);
    return performSteps([first, ...later], perform, swapped);
  }
  return performSteps(rest, perform, swapped);
}
