import { describe, expect, it } from 'vitest';
import { getCondition, isConditionTrue, removeCondition, setCondition } from './conditions.ts';

const ready = { type: 'Ready', status: 'True', reason: 'AllGood', message: '' } as const;
const at = (text: string): number => Date.parse(text);

describe('conditions', () => {
  it('moves lastTransitionTime only when the status changes', () => {
    const first = setCondition([], ready, at('2026-01-01T00:00:00.123Z'));
    expect(first).toEqual([{ ...ready, lastTransitionTime: '2026-01-01T00:00:00Z' }]);
    const reason = setCondition(first, { ...ready, reason: 'StillGood' }, at('2026-01-02T00:00:00Z'));
    expect(getCondition(reason, 'Ready')).toMatchObject({
      reason: 'StillGood',
      lastTransitionTime: '2026-01-01T00:00:00Z',
    });
    const broken = setCondition(reason, { ...ready, status: 'False' }, at('2026-01-03T00:00:00Z'));
    expect(getCondition(broken, 'Ready')?.lastTransitionTime).toBe('2026-01-03T00:00:00Z');
    expect(isConditionTrue(broken, 'Ready')).toBe(false);
  });

  it('returns the same list when nothing changed, and keeps the order', () => {
    const list = setCondition(setCondition([], { ...ready, type: 'A' }, 0), ready, 0);
    expect(setCondition(list, ready, 99_999)).toBe(list);
    expect(setCondition(list, { ...ready, observedGeneration: 2 }, 0).map((c) => c.type)).toEqual([
      'A',
      'Ready',
    ]);
    expect(removeCondition(list, 'Nope')).toBe(list);
    expect(removeCondition(list, 'A').map((c) => c.type)).toEqual(['Ready']);
  });
});
