import { describe, expect, it } from 'vitest';
import { canonicalMicroTime, canonicalTime } from './time.ts';

describe('times', () => {
  it('keeps years before 100', () => {
    expect(canonicalTime('0001-01-01T00:00:02Z')).toBe('0001-01-01T00:00:02Z');
    expect(canonicalMicroTime('0099-02-28T23:59:59.5Z')).toBe('0099-02-28T23:59:59.500000Z');
  });

  it('knows the leap years of the first centuries', () => {
    expect(canonicalTime('0004-02-29T00:00:00Z')).toBe('0004-02-29T00:00:00Z');
    expect(() => canonicalTime('0001-02-29T00:00:00Z')).toThrow(
      'parsing time "0001-02-29T00:00:00Z": day out of range',
    );
  });

  it('converts offsets to UTC', () => {
    expect(canonicalTime('0001-01-01T01:30:00+01:30')).toBe('0001-01-01T00:00:00Z');
    expect(canonicalTime('2026-01-02T03:04:05.678-02:00')).toBe('2026-01-02T05:04:05Z');
  });

  it('rejects a time that is before the year 0 in UTC', () => {
    expect(() => canonicalTime('0000-01-01T00:00:00+01:00')).toThrow('year out of range');
  });
});
