import { describe, expect, it } from 'vitest';
import { History } from './history.ts';
import type { Change } from './types.ts';

const change = (revision: number): Change => ({
  type: 'put',
  resource: 'pods',
  entry: { namespace: 'default', name: `pod-${revision}`, revision, value: Buffer.from('{}') },
  previous: undefined,
});

const revisions = (history: History, after: number): number[] =>
  history.after('pods', after).map(({ entry }) => entry.revision);

describe('age', () => {
  let now = 0;
  const open = (): History => {
    now = 0;
    return new History({ changes: 100, bytes: 1 << 20, age: { ms: 60_000, now: () => now } }, 1);
  };

  it('drops changes that are too old, also if nothing new happens', () => {
    const history = open();
    history.add(change(2));
    now = 30_000;
    history.add(change(3));
    expect(history.compactedRevision).toBe(1);
    now = 70_000;
    expect(history.compactedRevision).toBe(2);
    expect(revisions(history, 2)).toEqual([3]);
    now = 200_000;
    expect(history.compactedRevision).toBe(3);
    expect(revisions(history, 3)).toEqual([]);
  });

  it('keeps changes that are not older than the limit', () => {
    const history = open();
    for (let revision = 2; revision <= 50; revision++) {
      now += 1500;
      history.add(change(revision));
    }
    const [oldest = 0] = revisions(history, history.compactedRevision);
    expect(now - (oldest - 1) * 1500).toBeLessThanOrEqual(60_000);
    expect(oldest).toBe(history.compactedRevision + 1);
  });
});
