/**
 * Whether objects that run no pods are available, by their own conditions. The rules for kinds that are not built in are those
 * of kstatus, which kubectl plugins and GitOps tools use: controllers follow its conventions.
 */
import { type Condition, getCondition, isConditionTrue, isJsonMap, type KubeObject } from '@tidegate/kube';
import { listAt, read } from '../json.ts';
import { type Availability, available, isObserved, NOT_OBSERVED, rollingOut } from './availability-result.ts';

const conditionsOf = (object: KubeObject): Condition[] =>
  listAt(object, ['status', 'conditions']).filter(isJsonMap) as unknown as Condition[];

const failed = (reason: string, message: string): Availability => ({ available: false, reason, message });

/** For example `Ready is False: NotIssued: the issuer does not exist`. */
const textOf = ({ type, status, reason, message }: Condition): string =>
  [`${type} is ${status}`, reason, message].filter((part) => part !== undefined && part !== '').join(': ');

/** For kinds without rules of their own. An object without a status is available: most kinds have none. */
export function ofConditions(object: KubeObject): Availability {
  if (hasObservedGeneration(object) && !isObserved(object)) return NOT_OBSERVED;
  const conditions = conditionsOf(object);
  const stalled = getCondition(conditions, 'Stalled');
  if (stalled?.status === 'True') return failed('Stalled', textOf(stalled));
  const reconciling = getCondition(conditions, 'Reconciling');
  if (reconciling?.status === 'True') return rollingOut(textOf(reconciling));
  const ready = getCondition(conditions, 'Ready');
  if (ready === undefined) return available('the object matches the template');
  if (ready.status !== 'True') return rollingOut(textOf(ready));
  const { observedGeneration } = ready as { observedGeneration?: number };
  return observedGeneration !== undefined && observedGeneration < (object.metadata.generation ?? 0)
    ? NOT_OBSERVED
    : available('Ready is True');
}

const hasObservedGeneration = (object: KubeObject): boolean =>
  typeof read(object, ['status', 'observedGeneration']) === 'number';

/** An autoscaler whose target does not exist, or that has no metrics, does not scale. */
export function ofAutoscaler(object: KubeObject): Availability {
  const conditions = conditionsOf(object);
  const able = getCondition(conditions, 'AbleToScale');
  if (able?.status === 'False') return failed('ScalingFailed', textOf(able));
  const active = getCondition(conditions, 'ScalingActive');
  // A target with no replicas is not scaled, as its user wants.
  if (active?.status === 'False' && active.reason !== 'ScalingDisabled')
    return failed('ScalingFailed', textOf(active));
  return available('the object matches the template');
}

export function ofDisruptionBudget(object: KubeObject): Availability {
  if (hasObservedGeneration(object) && !isObserved(object)) return NOT_OBSERVED;
  const allowed = getCondition(conditionsOf(object), 'DisruptionAllowed');
  if (allowed?.reason === 'SyncFailed') return failed('SyncFailed', textOf(allowed));
  const [healthy, desired] = ['currentHealthy', 'desiredHealthy'].map((field) =>
    Number(read(object, ['status', field]) ?? 0),
  );
  return available(`${healthy} pods are healthy, ${desired} must be`);
}

export function ofClaim(object: KubeObject): Availability {
  const phase = read(object, ['status', 'phase']);
  if (phase === 'Lost') return failed('ClaimLost', 'the volume of the claim does not exist any more');
  return phase === 'Bound' ? available('the claim is bound') : rollingOut('the claim is not bound yet');
}

export function ofDefinition(object: KubeObject): Availability {
  const conditions = conditionsOf(object);
  const accepted = getCondition(conditions, 'NamesAccepted');
  if (accepted?.status === 'False') return failed('NamesNotAccepted', textOf(accepted));
  return isConditionTrue(conditions, 'Established')
    ? available('the kind is established')
    : rollingOut('the kind is not established yet');
}

export function ofApiService(object: KubeObject): Availability {
  const condition = getCondition(conditionsOf(object), 'Available');
  if (condition?.status === 'True') return available('the API is available');
  return rollingOut(condition === undefined ? 'the API is not available yet' : textOf(condition));
}

export const ofNamespace = (object: KubeObject): Availability =>
  read(object, ['status', 'phase']) === 'Terminating'
    ? { available: false, reason: 'Terminating', message: 'the namespace is being deleted' }
    : available('the namespace is active');
