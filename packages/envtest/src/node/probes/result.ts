import type * as core from 'kubernetes-types/core/v1.d.ts';

export type ProbeKind = 'Startup' | 'Liveness' | 'Readiness';

/** What a probe has come to think of its container. */
export interface ProbeState {
  verdict: 'success' | 'failure' | 'unknown';
  /** Equal outcomes in a row. */
  streak: number;
  streakOf: boolean;
}

/** Until the first verdict a container counts as alive, but neither as started nor as ready. */
export const initialState = (kind: ProbeKind): ProbeState => ({
  verdict: kind === 'Liveness' ? 'success' : kind === 'Readiness' ? 'failure' : 'unknown',
  streak: 0,
  streakOf: true,
});

/** The verdict changes only after as many equal outcomes in a row as the thresholds ask for. */
export function afterOutcome(
  state: ProbeState,
  ok: boolean,
  { successThreshold = 1, failureThreshold = 3 }: Pick<core.Probe, 'successThreshold' | 'failureThreshold'>,
): ProbeState {
  const streak = state.streakOf === ok ? state.streak + 1 : 1;
  const decided = streak >= (ok ? successThreshold : failureThreshold);
  return { streak, streakOf: ok, verdict: decided ? (ok ? 'success' : 'failure') : state.verdict };
}
