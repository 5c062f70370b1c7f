import type { KubeClient } from '@tidegate/kube';
import { VirtualClock } from '@tidegate/kube/testing';
import { expect, it } from 'vitest';
import { accessReviews } from './access.ts';

/** An API server that allows what is in `may`, and counts how often it was asked. */
function reviewer(may: Set<string>): { client: KubeClient; asked: object[] } {
  const asked: object[] = [];
  const create = async (_: unknown, review: { spec: { resourceAttributes: { verb: string } } }) => {
    asked.push(review.spec);
    return { ...review, status: { allowed: may.has(review.spec.resourceAttributes.verb) } };
  };
  return { client: { create } as unknown as KubeClient, asked };
}

const action = (verb: string): { verb: string; group: string; resource: string } => ({
  verb,
  group: 'apps',
  resource: 'deployments',
});

it('asks for the user with all that the server knows of them', async () => {
  const { client, asked } = reviewer(new Set());
  const extra = { scope: ['a'] };
  const user = { username: 'ann', uid: 'u', groups: ['g'], extra };
  expect(await accessReviews(client, new VirtualClock())(user, action('create'))).toBe(false);
  expect(asked).toEqual([
    { user: 'ann', uid: 'u', groups: ['g'], extra, resourceAttributes: action('create') },
  ]);
});

it('remembers for a moment what was allowed, to this user only', async () => {
  const { client, asked } = reviewer(new Set(['create']));
  const clock = new VirtualClock();
  const access = accessReviews(client, clock);
  for (let i = 0; i < 3; i++) expect(await access({ username: 'ann' }, action('create'))).toBe(true);
  expect(asked).toHaveLength(1);
  await access({ username: 'ann', groups: ['g'] }, action('create'));
  await access({ username: 'bob' }, action('create'));
  expect(asked).toHaveLength(3);
  await clock.advance(5_000);
  await access({ username: 'ann' }, action('create'));
  expect(asked).toHaveLength(4);
});

it('does not remember what was refused', async () => {
  const may = new Set<string>();
  const access = accessReviews(reviewer(may).client, new VirtualClock());
  expect(await access({ username: 'ann' }, action('patch'))).toBe(false);
  may.add('patch');
  expect(await access({ username: 'ann' }, action('patch'))).toBe(true);
});

it('forgets the oldest answers rather than keep all', async () => {
  const may = new Set(Array.from({ length: 1_001 }, (_, index) => `v${index}`));
  const { client, asked } = reviewer(may);
  const access = accessReviews(client, new VirtualClock());
  for (const verb of may) await access({ username: 'ann' }, action(verb));
  await access({ username: 'ann' }, action('v1000'));
  expect(asked).toHaveLength(1_001);
  await access({ username: 'ann' }, action('v0'));
  expect(asked).toHaveLength(1_002);
});
