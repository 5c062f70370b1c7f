/** How drift is reported: in the status of an application, and in events. */
import type { ConditionUpdate } from '@tidegate/kube';
import type { DriftedField, DriftPolicy, ResourceIdentifier } from '../../api/index.ts';
import { inText, nameOf } from './messages.ts';

/** Fields that other clients added to an object. */
export interface Drifting {
  /** Additions that the object has. */
  readonly drift: readonly DriftedField[];
  /** Why additions that had to be removed are still there. */
  readonly problem?: string;
}

/** What was found about the drift of one object. */
export interface DriftOutcome {
  readonly identifier: ResourceIdentifier;
  /** Present if other clients added fields that the object still has. */
  readonly drifting?: Drifting;
  /** Additions that were removed just now. */
  readonly reverted?: readonly DriftedField[];
}

/** How many fields of one object the status lists. */
export const MAX_DRIFT = 10;

/** The type of the condition. */
export const DRIFTED = 'Drifted';

/** The condition Drifted. Returns undefined if the application does not look for drift. */
export function driftCondition(
  policy: DriftPolicy = 'Ignore',
  outcomes: readonly DriftOutcome[],
): ConditionUpdate | undefined {
  if (policy === 'Ignore') return undefined;
  const drifted = outcomes.filter(({ drifting }) => drifting !== undefined);
  if (drifted.length === 0)
    return {
      type: DRIFTED,
      status: 'False',
      reason: 'NoDrift',
      message: 'no object has fields that other clients added',
    };
  return {
    type: DRIFTED,
    status: 'True',
    reason: drifted.some(({ drifting }) => drifting?.problem) ? 'RevertFailed' : 'DriftDetected',
    message: inText(
      drifted.map(
        ({ identifier, drifting }) =>
          `${nameOf(identifier)}: ${textOf(drifting?.drift ?? [])}${drifting?.problem ? ` and cannot be removed: ${drifting.problem}` : ''}`,
      ),
    ),
  };
}

/** The message of the event for fields that were removed. */
export const revertedText = ({ identifier, reverted = [] }: DriftOutcome): string =>
  `${nameOf(identifier)}: removed ${inText(reverted.map(({ field, manager }) => `${field}, which ${manager} added`))}`;

const textOf = (drift: readonly DriftedField[]): string =>
  inText(drift.map(({ field, manager }) => `${field} was added by ${manager}`));
