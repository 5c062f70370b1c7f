import type { KubeClient } from '@tidegate/kube';
import { VirtualClock } from '@tidegate/kube/testing';
import { expect, it } from 'vitest';
import { accessReviews } from './access.ts';

/** An API server that allows the verbs in `allowed`, and records the reviews that it received. */
function reviewer(allowed: Set<string>): { client: KubeClient; reviews: object[] } {
  const reviews: object[] = [];
  const create = async (_: unknown, review: { spec: { resourceAttributes: { verb: string } } }) => {
    reviews.push(review.spec);
    return { ...review, status: { allowed: allowed.has(review.spec.resourceAttributes.verb) } };
  };
  return { client: { create } as unknown as KubeClient, reviews };
}

const request = (verb: string): { verb: string; group: string; resource: string } => ({
  verb,
  group: 'apps',
  resource: 'deployments',
});

it('sends all attributes of the user', async () => {
  const { client, reviews } = reviewer(new Set());
  const extra = { scope: ['a'] };
  const user = { username: 'ann', uid: 'u', groups: ['g'], extra };
  expect(await accessReviews(client, new VirtualClock())(user, request('create'))).toBe(false);
  expect(reviews).toEqual([
    { user: 'ann', uid: 'u', groups: ['g'], extra, resourceAttributes: request('create') },
  ]);
});

it('caches a positive result for a moment, for this user only', async () => {
  const { client, reviews } = reviewer(new Set(['create']));
  const clock = new VirtualClock();
  const access = accessReviews(client, clock);
  for (let i = 0; i < 3; i++) expect(await access({ username: 'ann' }, request('create'))).toBe(true);
  expect(reviews).toHaveLength(1);
  await access({ username: 'ann', groups: ['g'] }, request('create'));
  await access({ username: 'bob' }, request('create'));
  expect(reviews).toHaveLength(3);
  await clock.advance(5_000);
  await access({ username: 'ann' }, request('create'));
  expect(reviews).toHaveLength(4);
});

it('does not cache a denial', async () => {
  const may = new Set<string>();
  const access = accessReviews(reviewer(may).client, new VirtualClock());
  expect(await access({ username: 'ann' }, request('patch'))).toBe(false);
  may.add('patch');
  expect(await access({ username: 'ann' }, request('patch'))).toBe(true);
});

it('drops the oldest results from the cache', async () => {
  const may = new Set(Array.from({ length: 1_001 }, (_, index) => `v${index}`));
  const { client, reviews } = reviewer(may);
  const access = accessReviews(client, new VirtualClock());
  for (const verb of may) await access({ username: 'ann' }, request(verb));
  await access({ username: 'ann' }, request('v1000'));
  expect(reviews).toHaveLength(1_001);
  await access({ username: 'ann' }, request('v0'));
  expect(reviews).toHaveLength(1_002);
});
