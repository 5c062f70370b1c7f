import { expect, it } from 'vitest';
import { linkText, poolLink, timeText } from './links.ts';
import type { NodeRow, Tristate } from './wire.ts';

const node = (ready: Tristate, since?: string): NodeRow => ({ kind: 'Node', key: 'n', ready, since });

it('is in step while the cloud hears from all nodes, ready or not', () => {
  expect(poolLink([{ node: node('True') }, { node: node('False') }])).toEqual({ state: 'in step' });
});

it('is behind since the first node was lost, and cut when all are', () => {
  const lost = [node('Unknown', '2026-01-02T00:00:00Z'), node('Unknown', '2026-01-01T00:00:00Z')];
  const since = '2026-01-01T00:00:00Z';
  expect(poolLink([{ node: node('True') }, ...lost.map((each) => ({ node: each }))])).toEqual({
    state: 'behind',
    since,
  });
  expect(poolLink(lost.map((each) => ({ node: each })))).toEqual({ state: 'cut', since });
});

it('is cut at once when the embedded cluster cuts the links', () => {
  expect(poolLink([{ node: node('True'), cut: true }])).toEqual({ state: 'cut', since: undefined });
  expect(linkText(poolLink([]))).toBe('no nodes');
});

it('shows the date only if it is not today, and invalid times as they are', () => {
  const now = new Date('2026-03-01T12:00:00');
  expect(timeText('2026-03-01T08:00:00', now)).not.toContain('2026');
  expect(timeText('2026-02-01T08:00:00', now)).toContain('2026');
  expect(timeText('soon', now)).toBe('soon');
});
