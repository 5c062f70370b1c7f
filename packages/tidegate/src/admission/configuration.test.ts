import { describe, expect, it } from 'vitest';
import { configurations, keepsConditions, type WebhookConfiguration } from './configuration.ts';
import type { AdmissionRule } from './rule.ts';

const rule = (more: Partial<AdmissionRule>): AdmissionRule => ({
  group: '',
  versions: ['v1'],
  resource: 'nodes',
  scope: 'Cluster',
  operations: ['UPDATE'],
  failurePolicy: 'Fail',
  evaluate: () => ({}),
  ...more,
});
const CONDITION = { name: 'c', expression: 'true' };
const RULES = [
  rule({ guards: 'metadata', matchConditions: () => [CONDITION] }),
  rule({ resource: 'edgeapplications' }),
  rule({ resource: 'pools', failurePolicy: 'Ignore' }),
];

const validating = (hasConditions: boolean): WebhookConfiguration =>
  configurations(RULES, { url: 'https://webhook' }, 'ca', { hasConditions })[0]!.object;
const summary = ({ webhooks }: WebhookConfiguration): unknown[] =>
  webhooks.map(({ failurePolicy, matchConditions }) => [
    failurePolicy,
    matchConditions?.map(({ name }) => name),
  ]);

describe('the webhook configuration', () => {
  it('limits webhooks that fail closed with conditions', () => {
    expect(summary(validating(true))).toEqual([
      ['Fail', ['c']],
      ['Fail', ['spec-is-changed']],
      ['Ignore', undefined],
    ]);
  });

  it('without conditions, lets nodes report while no manager answers, and protects applications', () => {
    expect(summary(validating(false))).toEqual([
      ['Ignore', undefined],
      ['Fail', undefined],
      ['Ignore', undefined],
    ]);
  });

  it('shows whether an API server dropped the conditions', () => {
    expect(keepsConditions(validating(true), validating(true))).toBe(true);
    expect(keepsConditions(validating(true), validating(false))).toBe(false);
    expect(keepsConditions(validating(false), validating(false))).toBe(true);
  });
});
