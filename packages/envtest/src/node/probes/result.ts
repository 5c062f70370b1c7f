import type * as core from 'kubernetes-types/core/v1.d.ts';

/**
 * Startup holds back the other two. Liveness restarts the container. Readiness decides whether it receives traffic.
 */
export type ProbeKind = 'Startup' | 'Liveness' | 'Readiness';

/** The state of a probe. */
export interface ProbeState {
  result: 'success' | 'failure' | 'unknown';
  /** The number of equal outcomes in a row. */
  streak: number;
  streakOf: boolean;
}

/** Before the first result, a container counts as alive, but not as started and not as ready. */
export const initialState = (kind: ProbeKind): ProbeState => ({
  result: kind === 'Liveness' ? 'success' : kind === 'Readiness' ? 'failure' : 'unknown',
  streak: 0,
  streakOf: true,
});

/** The result changes only after as many equal outcomes in a row as the threshold requires. */
export function afterOutcome(
  state: ProbeState,
  ok: boolean,
  { successThreshold = 1, failureThreshold = 3 }: Pick<core.Probe, 'successThreshold' | 'failureThreshold'>,
): ProbeState {
  const streak = state.streakOf === ok ? state.streak + 1 : 1;
  const decided = streak >= (ok ? successThreshold : failureThreshold);
  return { streak, streakOf: ok, result: decided ? (ok ? 'success' : 'failure') : state.result };
}
