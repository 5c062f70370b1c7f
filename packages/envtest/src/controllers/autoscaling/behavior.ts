/**
 * Limits how fast the number of replicas changes: a stabilization window uses the best of the recent recommendations, and
 * policies limit the change within a period. Pure; the history is a parameter.
 */
import type { HPAScalingPolicy, HPAScalingRules } from 'kubernetes-types/autoscaling/v2.d.ts';

export interface Behavior {
  scaleUp?: HPAScalingRules;
  scaleDown?: HPAScalingRules;
}

export interface Recommendation {
  at: number;
  replicas: number;
}

/** A change that was made: a positive or negative number of replicas. */
export interface ScaleEvent {
  at: number;
  change: number;
}

export interface Recent {
  recommendations: readonly Recommendation[];
  events: readonly ScaleEvent[];
}

export interface Limits {
  min: number;
  max: number;
}

export interface Decision {
  replicas: number;
  ableToScale: { reason: string; message: string };
  limited: { status: 'True' | 'False'; reason: string; message: string };
}

const DOWN_WINDOW_SECONDS = 300;
export const LONGEST_WINDOW_SECONDS = 3600;
const UP: Required<Pick<HPAScalingRules, 'policies' | 'selectPolicy'>> = {
  selectPolicy: 'Max',
  policies: [
    { type: 'Pods', value: 4, periodSeconds: 15 },
    { type: 'Percent', value: 100, periodSeconds: 15 },
  ],
};
const DOWN: Required<Pick<HPAScalingRules, 'policies' | 'selectPolicy'>> = {
  selectPolicy: 'Max',
  policies: [{ type: 'Percent', value: 100, periodSeconds: 15 }],
};

/** `recommended` is what the metrics ask for, and `current` what the target has. */
export function decideReplicas(
  recommended: number,
  current: number,
  limits: Limits,
  behavior: Behavior | undefined,
  recent: Recent,
  now: number,
): Decision {
  const stable = stabilized(recommended, current, behavior, recent, now);
  const ableToScale =
    stable === recommended
      ? { reason: 'ReadyForNewScale', message: 'recommended size matches current size' }
      : stable > recommended
        ? {
            reason: 'ScaleDownStabilized',
            message:
              'recent recommendations were higher than current one, applying the highest recent recommendation',
          }
        : {
            reason: 'ScaleUpStabilized',
            message:
              'recent recommendations were lower than current one, applying the lowest recent recommendation',
          };
  const limited = limitRate(stable, current, limits, behavior, recent, now);
  return { ...limited, ableToScale };
}

/** Scaling up uses the lowest recommendation of its window, scaling down the highest of its window. */
function stabilized(
  recommended: number,
  current: number,
  behavior: Behavior | undefined,
  { recommendations }: Recent,
  now: number,
): number {
  const since = (rules: HPAScalingRules | undefined, standard: number): number =>
    now - (rules?.stabilizationWindowSeconds ?? standard) * 1000;
  const within = (start: number): number[] => [
    recommended,
    ...recommendations.filter(({ at }) => at > start).map(({ replicas }) => replicas),
  ];
  const lowest = Math.min(...within(since(behavior?.scaleUp, 0)));
  const highest = Math.max(...within(since(behavior?.scaleDown, DOWN_WINDOW_SECONDS)));
  return Math.min(Math.max(current, lowest), highest);
}

function limitRate(
  wanted: number,
  current: number,
  { min, max }: Limits,
  behavior: Behavior | undefined,
  { events }: Recent,
  now: number,
): Pick<Decision, 'replicas' | 'limited'> {
  const isUp = wanted > current;
  const rules = { ...(isUp ? UP : DOWN), ...(isUp ? behavior?.scaleUp : behavior?.scaleDown) };
  const rate = isUp ? upLimit(rules, current, events, now) : downLimit(rules, current, events, now);
  const rateReason = isUp ? 'ScaleUpLimit' : 'ScaleDownLimit';
  const limited = (reason: string, message: string) => ({ status: 'True' as const, reason, message });
  if (wanted > current && wanted > rate && rate < max) {
    const message = 'the desired replica count is increasing faster than the maximum scale rate';
    return { replicas: Math.max(rate, min), limited: limited(rateReason, message) };
  }
  if (wanted < current && wanted < rate && rate > min) {
    const message = 'the desired replica count is decreasing faster than the maximum scale rate';
    return { replicas: Math.min(rate, max), limited: limited(rateReason, message) };
  }
  if (wanted > max) {
    const message = 'the desired replica count is more than the maximum replica count';
    return { replicas: max, limited: limited('TooManyReplicas', message) };
  }
  if (wanted < min) {
    const message = 'the desired replica count is less than the minimum replica count';
    return { replicas: min, limited: limited('TooFewReplicas', message) };
  }
  const message = 'the desired count is within the acceptable range';
  return { replicas: wanted, limited: { status: 'False', reason: 'DesiredWithinRange', message } };
}

type Rules = Pick<HPAScalingRules, 'policies' | 'selectPolicy'>;

/** The replicas at the beginning of the period of a policy. */
function atStart(
  policy: HPAScalingPolicy,
  current: number,
  events: readonly ScaleEvent[],
  now: number,
): number {
  const start = now - policy.periodSeconds * 1000;
  const changed = events.filter(({ at }) => at > start).reduce((sum, { change }) => sum + change, 0);
  return current - changed;
}

function select(rules: Rules, proposals: number[], largest: (...values: number[]) => number): number {
  const smallest = largest === Math.max ? Math.min : Math.max;
  return rules.selectPolicy === 'Min' ? smallest(...proposals) : largest(...proposals);
}

function upLimit(rules: Rules, current: number, events: readonly ScaleEvent[], now: number): number {
  if (rules.selectPolicy === 'Disabled') return current;
  const proposals = (rules.policies ?? []).map((policy) => {
    const start = atStart(
      policy,
      current,
      events.filter(({ change }) => change > 0),
      now,
    );
    return policy.type === 'Pods' ? start + policy.value : Math.ceil(start * (1 + policy.value / 100));
  });
  return select(rules, proposals, Math.max);
}

function downLimit(rules: Rules, current: number, events: readonly ScaleEvent[], now: number): number {
  if (rules.selectPolicy === 'Disabled') return current;
  const proposals = (rules.policies ?? []).map((policy) => {
    const start = atStart(
      policy,
      current,
      events.filter(({ change }) => change < 0),
      now,
    );
    return policy.type === 'Pods' ? start - policy.value : Math.floor(start * (1 - policy.value / 100));
  });
  // The policy that allows the largest change has the lowest limit.
  return select(rules, proposals, Math.min);
}
