import type { KubeObject } from '@tidegate/kube';
import { ApiError } from '@tidegate/serving';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { compare } from './compare.ts';
import { claimedPaths } from './field-paths.ts';
import { objectType } from './field-type.ts';
import { difference, isEmpty } from './fieldset.ts';
import { mergeApplied } from './merge.ts';
import { type ApplyRequest, applyConfiguration } from './server-side-apply.ts';
import { spec, WIDGET_SCHEMA, widget } from './testing.ts';

const TYPE = objectType(WIDGET_SCHEMA);

const apply = (request: Partial<ApplyRequest> & Pick<ApplyRequest, 'live' | 'applied'>): KubeObject =>
  applyConfiguration({
    manager: 'first',
    apiVersion: 'example.com/v1',
    kind: 'Widget',
    force: false,
    now: new Date('2026-01-01T00:00:00Z'),
    schema: WIDGET_SCHEMA,
    ...request,
  });

/** Every path of the configuration is in the object with the configured value. The order of items has no owner. */
function expectContains(object: KubeObject, configuration: KubeObject): void {
  const merged = mergeApplied(object, configuration, TYPE);
  expect(compare(object, merged, TYPE)).toEqual({ changed: {}, removed: {} });
}

/** These lists are owned item by item, so an empty list has no owner. */
const LISTS_OF_ITEMS = ['tags', 'ports'];

const withoutEmptyLists = (fields: object): object =>
  Object.fromEntries(
    Object.entries(fields).filter(([name, value]) => !LISTS_OF_ITEMS.includes(name) || value.length > 0),
  );

describe('applyConfiguration', () => {
  it('changes nothing when it is repeated', () => {
    fc.assert(
      fc.property(spec, spec, (live, content) => {
        const applied = widget(content);
        const once = apply({ live: widget(live), applied, force: true });
        const later = new Date('2027-01-01T00:00:00Z');
        const frozen = structuredClone(once);
        expect(apply({ live: once, applied, now: later })).toEqual(frozen);
        expect(once).toEqual(frozen);
      }),
    );
  });

  it('always stores the applied values with force', () => {
    fc.assert(
      fc.property(spec, spec, (live, content) => {
        const applied = widget(content);
        expectContains(apply({ live: widget(live), applied, force: true }), applied);
      }),
    );
  });

  it('never takes a field from another manager without force', () => {
    fc.assert(
      fc.property(spec, spec, spec, (mine, theirs, thenTheirs) => {
        let object = apply({ live: undefined, applied: widget(mine) });
        for (const content of [theirs, thenTheirs]) {
          try {
            object = apply({ live: object, applied: widget(content), manager: 'second' });
          } catch (error) {
            expect(error).toBeInstanceOf(ApiError);
            expect((error as ApiError).status.reason).toBe('Conflict');
          }
          expectContains(object, widget(withoutEmptyLists(mine)));
        }
      }),
    );
  });

  it('removes fields that are no longer applied and have no other owner', () => {
    fc.assert(
      fc.property(spec, (content) => {
        const object = apply({ live: undefined, applied: widget(content) });
        const emptied = apply({ live: object, applied: widget({}) });
        const left = difference(claimedPaths(emptied, TYPE), { 'f:apiVersion': {}, 'f:kind': {} });
        expect(
          isEmpty(difference(left, { 'f:metadata': { 'f:name': {}, 'f:managedFields': {} }, 'f:spec': {} })),
        ).toBe(true);
      }),
    );
  });

  it('lists the conflicting fields of every manager in the words of kube-apiserver', () => {
    const live = apply({ live: undefined, applied: widget({ size: 1, labels: { a: 'b' } }) });
    const conflict = (): KubeObject =>
      apply({ live, applied: widget({ size: 2, labels: { a: 'c' } }), manager: 'second' });
    expect(conflict).toThrow(
      'Apply failed with 2 conflicts: conflicts with "first":\n- .spec.size\n- .spec.labels.a',
    );
  });

  it('rejects an apply to an object with malformed managedFields', () => {
    const managedFields = [{ manager: 'x', operation: 'Update' as const, apiVersion: 'v1' }];
    const live = widget({ size: 1 }, { name: 'w', managedFields });
    expect(() => apply({ live, applied: widget({}) })).toThrow(
      'failed to decode managed fields: missing fieldsType in managed fields entry 0',
    );
  });
});
