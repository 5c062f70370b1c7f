import { describe, expect, it } from 'vitest';
import { createdNamespaces } from './apply-plan.ts';
import type { Inventory } from './inventory.ts';
import type { Step } from './plan.ts';

const step = (name: string, action: Step['action'], isOwn?: boolean): Step => ({
  object: { apiVersion: 'v1', kind: 'Namespace', metadata: { name } },
  resource: undefined,
  action,
  fields: [],
  ...(isOwn !== undefined && { isOwn }),
});
const inventory = (changingTo: string | undefined, created: string[]): Inventory => ({
  namespace: 'system',
  version: '0.2.0',
  changingTo,
  values: {},
  objects: [],
  createdNamespaces: created,
});
const namespaces = (before: Inventory | undefined, ...steps: Step[]): string[] =>
  createdNamespaces({ steps }, { namespace: 'system', inventory: before });

describe('the namespaces that an installation has created', () => {
  it('are those that it creates, and those of earlier runs', () => {
    const before = inventory(undefined, ['system']);
    expect(namespaces(before, step('system', 'keep', true), step('doors', 'create'))).toEqual([
      'system',
      'doors',
    ]);
  });

  it('include the namespace of the manager if an earlier run was killed before it could record it', () => {
    const left = step('system', 'keep', true);
    expect(namespaces(undefined, left, step('doors', 'create'))).toEqual(['system', 'doors']);
  });

  it('do not include a namespace that another program has written', () => {
    expect(namespaces(undefined, step('system', 'change', false))).toEqual([]);
    // Routers may stay in it after a removal that kept the CRDs, so it is not known to be empty.
    expect(namespaces(undefined, step('doors', 'keep', true))).toEqual([]);
  });

  it('do not include a namespace that a user has created while the installation was interrupted', () => {
    const before = inventory('0.2.0', ['system', 'doors']);
    expect(namespaces(before, step('system', 'keep', true), step('doors', 'change', false))).toEqual([
      'system',
    ]);
  });
});
