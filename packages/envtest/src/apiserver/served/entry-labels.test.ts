import type { Labels } from '@tidegate/kube';
import { describe, expect, it } from 'vitest';
import type { Entry } from '../store/types.ts';
import { labelsOfEntry, rememberLabels } from './entry-labels.ts';

const entryOf = (labels: unknown): Entry => ({
  namespace: 'default',
  name: 'a',
  revision: 1,
  value: Buffer.from(JSON.stringify({ kind: 'Pod', apiVersion: 'v1', metadata: { name: 'a', labels } })),
});

describe('the labels of an entry', () => {
  const cases: (Labels | null | undefined)[] = [
    undefined,
    null,
    {},
    { app: 'web' },
    { 'example.com/ä': 'ü' },
  ];
  it.each(cases)('are the same whether they are read or remembered: %j', (labels) => {
    const [read, remembered] = [entryOf(labels), entryOf(labels)];
    rememberLabels(remembered, labels);
    expect(labelsOfEntry(remembered)).toEqual(labelsOfEntry(read));
  });

  it('do not change when the writer changes its object afterwards', () => {
    const labels: Record<string, string> = { app: 'web' };
    const entry = entryOf(labels);
    rememberLabels(entry, labels);
    labels.app = 'other';
    expect(labelsOfEntry(entry)).toEqual({ app: 'web' });
  });

  it('are shared by objects with the same labels', () => {
    const [one, other] = [entryOf({ app: 'web' }), entryOf({ app: 'web' })];
    rememberLabels(one, { app: 'web' });
    expect(labelsOfEntry(other)).toBe(labelsOfEntry(one));
  });
});
