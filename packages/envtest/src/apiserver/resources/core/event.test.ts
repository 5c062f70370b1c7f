import { expect, it } from 'vitest';
import { events, groupedEvents } from './event.ts';

const now = new Date('2026-01-01T00:10:00Z');
const stored = {
  apiVersion: 'v1',
  kind: 'Event',
  metadata: { name: 'x', namespace: 'a' },
  involvedObject: { kind: 'Pod', name: 'p' },
  reason: 'Pulled',
  message: ' done ',
  type: 'Normal',
  count: 2,
  source: { component: 'kubelet', host: 'n1' },
  firstTimestamp: '2026-01-01T00:00:00Z',
  lastTimestamp: '2026-01-01T00:05:00Z',
};

it('is served in both groups with the same content', () => {
  const [face] = groupedEvents.versions;
  const shown = face?.fromStorage?.(stored) ?? stored;
  expect(shown).toMatchObject({ apiVersion: 'events.k8s.io/v1', note: ' done ', deprecatedCount: 2 });
  expect(face?.toStorage?.(shown)).toEqual(stored);
  const cells = ['5m', 'Normal', 'Pulled', 'pod/p', '', 'kubelet, n1', 'done', '10m', 2, 'x'];
  expect(events.versions[0]?.printer.cells(stored, now)).toEqual(cells);
  expect(face?.printer.cells(shown, now)).toEqual(cells);
});

it('supports the field selectors of each group', () => {
  expect(events.selectableFields?.(stored)).toMatchObject({ 'involvedObject.name': 'p', source: 'kubelet' });
  expect(groupedEvents.selectableFields?.(stored)).toMatchObject({ 'regarding.name': 'p', type: 'Normal' });
});
