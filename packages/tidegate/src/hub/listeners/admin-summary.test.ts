import { expect, it } from 'vitest';
import { summarizeJournal, summarizeViews } from './admin-summary.ts';

it('adds up views without names of clients', () => {
  const view = { resource: 'secrets/v1', state: 'stored', objects: 2, bytes: 10, clients: 1 };
  const rows = summarizeViews([
    { ...view, identity: 'sa:default:app:1' },
    { ...view, identity: 'token:abc' },
    { ...view, identity: 'node', state: 'following' },
  ]);
  expect(rows).toEqual([
    {
      owner: 'clients',
      resource: 'secrets/v1',
      state: 'stored',
      views: 2,
      objects: 4,
      bytes: 20,
      clients: 2,
    },
    {
      owner: 'node',
      resource: 'secrets/v1',
      state: 'following',
      views: 1,
      objects: 2,
      bytes: 10,
      clients: 1,
    },
  ]);
});

it('adds up the journal without names of objects', () => {
  const rows = summarizeJournal([
    { object: 'pods default/web', kind: 'status', since: '2026-01-02', writes: 3 },
    { object: 'pods default/db', kind: 'status', since: '2026-01-01', writes: 1 },
    { object: 'nodes edge-1', kind: 'status', since: '2026-01-03', writes: 1 },
  ]);
  expect(rows).toEqual([
    { resource: 'pods', kind: 'status', objects: 2, since: '2026-01-01', writes: 4 },
    { resource: 'nodes', kind: 'status', objects: 1, since: '2026-01-03', writes: 1 },
  ]);
});
