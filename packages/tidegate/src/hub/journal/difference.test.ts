import type { JsonMap } from '@tidegate/kube';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { compose, difference } from './difference.ts';
import { merge, STATUS_MERGE_KEYS } from './merge.ts';

const scalar = fc.oneof(fc.integer({ min: 0, max: 3 }), fc.constantFrom('a', 'b'), fc.boolean());
const nested = fc.dictionary(
  fc.constantFrom('x', 'y', 'z'),
  fc.oneof(scalar, fc.array(scalar, { maxLength: 3 })),
);
const optional = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: undefined });

const conditions = fc.uniqueArray(
  fc.record({ type: fc.constantFrom('Ready', 'Memory', 'Disk'), status: scalar, message: optional(scalar) }),
  { selector: ({ type }) => type },
);
const addresses = fc.array(fc.record({ type: fc.constantFrom('InternalIP', 'Hostname'), address: scalar }));
const status = fc
  .record({
    phase: optional(scalar),
    capacity: optional(nested),
    nodeInfo: optional(nested),
    conditions: optional(conditions),
    addresses: optional(addresses),
    images: optional(fc.array(nested, { maxLength: 2 })),
  })
  .map((fields) => JSON.parse(JSON.stringify({ status: fields })) as JsonMap);

const applied = (object: JsonMap, patch: JsonMap): JsonMap => ({
  status: merge(object.status as JsonMap, (patch.status ?? {}) as JsonMap, STATUS_MERGE_KEYS),
});

/** Conditions are a set. Their order has no meaning. */
const inOrder = (object: JsonMap): JsonMap => {
  const { conditions: list, ...rest } = object.status as { conditions?: { type: string }[] };
  return list === undefined
    ? rest
    : { ...rest, conditions: list.toSorted((a, b) => (a.type < b.type ? -1 : 1)) };
};

describe('difference', () => {
  it('returns a patch that leads from one state to the other', () => {
    fc.assert(
      fc.property(status, status, (before, after) => {
        expect(inOrder(applied(before, difference(before, after)))).toEqual(inOrder(after));
      }),
    );
  });

  it('returns patches that can be composed', () => {
    fc.assert(
      fc.property(status, status, status, (first, second, third) => {
        const patch = compose(difference(first, second), difference(second, third));
        expect(inOrder(applied(first, patch))).toEqual(inOrder(third));
      }),
    );
  });

  it('is empty for equal states', () => {
    fc.assert(
      fc.property(status, (state) => {
        expect(difference(state, structuredClone(state))).toEqual({});
      }),
    );
  });

  it('contains a changed condition as a whole, and no other condition', () => {
    const before = { status: { conditions: [condition('Ready', 'True', 1), condition('Disk', 'False', 1)] } };
    const after = { status: { conditions: [condition('Ready', 'True', 2), condition('Disk', 'False', 1)] } };
    const whole = { $retainKeys: ['type', 'status', 'lastHeartbeatTime'], ...condition('Ready', 'True', 2) };
    expect(difference(before, after)).toEqual({ status: { conditions: [whole] } });
  });

  it('replaces the addresses of a node, of which several can have the same type', () => {
    const before = { status: { addresses: [{ type: 'InternalIP', address: '10.0.0.1' }] } };
    const after = { status: { addresses: [{ type: 'InternalIP', address: 'fd00::1' }] } };
    expect(difference(before, after)).toEqual({
      status: { addresses: [{ type: 'InternalIP', address: 'fd00::1' }, { $patch: 'replace' }] },
    });
  });
});

const condition = (type: string, state: string, lastHeartbeatTime: number) => ({
  type,
  status: state,
  lastHeartbeatTime,
});
