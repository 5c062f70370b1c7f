import { describe, expect, it } from 'vitest';
import { type Behavior, decideReplicas, type Recent } from './behavior.ts';

const NOW = 10_000_000;
const NOTHING: Recent = { recommendations: [], events: [] };

const decide = (recommended: number, current: number, behavior?: Behavior, recent = NOTHING) =>
  decideReplicas(recommended, current, { min: 1, max: 20 }, behavior, recent, NOW);

describe('limits', () => {
  it('scales up by at most four pods or to twice the number', () => {
    expect(decide(20, 1)).toMatchObject({
      replicas: 5,
      limited: { status: 'True', reason: 'ScaleUpLimit' },
    });
    expect(decide(20, 6).replicas).toBe(12);
  });

  it('counts earlier changes of the same period', () => {
    const events = [{ at: NOW - 10_000, change: 4 }];
    expect(decide(20, 5, undefined, { recommendations: [], events }).replicas).toBe(5);
    const old = [{ at: NOW - 20_000, change: 4 }];
    expect(decide(20, 5, undefined, { recommendations: [], events: old }).replicas).toBe(10);
  });

  it('stays within the minimum and the maximum', () => {
    expect(decide(100, 15)).toMatchObject({ replicas: 20, limited: { reason: 'TooManyReplicas' } });
    expect(decide(0, 3)).toMatchObject({ replicas: 1, limited: { reason: 'TooFewReplicas' } });
    expect(decide(3, 3).limited).toMatchObject({ status: 'False', reason: 'DesiredWithinRange' });
  });

  it('follows the policies of the autoscaler', () => {
    const scaleDown = {
      stabilizationWindowSeconds: 0,
      policies: [{ type: 'Pods', value: 2, periodSeconds: 60 }],
    };
    expect(decide(1, 10, { scaleDown })).toMatchObject({
      replicas: 8,
      limited: { status: 'True', reason: 'ScaleDownLimit' },
    });
    expect(decide(1, 10, { scaleDown: { ...scaleDown, selectPolicy: 'Disabled' } }).replicas).toBe(10);
    const two = [...scaleDown.policies, { type: 'Percent', value: 50, periodSeconds: 60 }];
    expect(decide(1, 10, { scaleDown: { ...scaleDown, policies: two } }).replicas).toBe(5);
    expect(decide(1, 10, { scaleDown: { ...scaleDown, policies: two, selectPolicy: 'Min' } }).replicas).toBe(
      8,
    );
  });
});

describe('stabilization', () => {
  const recent = (secondsAgo: number, replicas: number): Recent => ({
    recommendations: [{ at: NOW - secondsAgo * 1000, replicas }],
    events: [],
  });

  it('scales down only to the highest recommendation of five minutes', () => {
    expect(decide(2, 10, undefined, recent(200, 7))).toMatchObject({
      replicas: 7,
      ableToScale: { reason: 'ScaleDownStabilized' },
    });
    expect(decide(2, 10, undefined, recent(400, 7)).replicas).toBe(2);
  });

  it('scales up at once, unless the autoscaler has a window', () => {
    expect(decide(4, 2, undefined, recent(5, 2)).replicas).toBe(4);
    const scaleUp = { stabilizationWindowSeconds: 60 };
    expect(decide(4, 2, { scaleUp }, recent(5, 3))).toMatchObject({
      replicas: 3,
      ableToScale: { reason: 'ScaleUpStabilized' },
    });
  });
});
