import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { decodeCustom } from '../schema/custom.ts';
import type { Schema } from '../schema/types.ts';
import { definitionOf } from './definition.ts';

type Cause = [reason: string, field: string, message: string];

// Rules that use every CEL library, with the recorded answers of kube-apiserver 1.36.
const golden = JSON.parse(
  readFileSync(new URL('../schema/testdata/rules.json', import.meta.url), 'utf8'),
) as {
  schema: Schema;
  root: Cause[];
  creates: { spec: unknown; causes: Cause[] }[];
  old: unknown;
  updates: { spec: unknown; causes: Cause[] }[];
};

const definition = definitionOf({
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'cels.h.example.com' },
  spec: {
    group: 'h.example.com',
    names: { plural: 'cels', kind: 'Cel' },
    versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: golden.schema } }],
  },
});

const read = (spec: unknown, name = 'a') =>
  decodeCustom(
    { apiVersion: 'h.example.com/v1', kind: 'Cel', metadata: { name }, spec },
    { schema: golden.schema },
  ).object;

const causes = (spec: unknown, old?: unknown, name = 'a'): Cause[] => {
  const before = old === undefined ? undefined : read(old, name);
  const errors = definition.strategy.validate?.(read(spec, name), before) ?? [];
  return errors.map((e): Cause => [e.reason, e.field, e.body]).sort();
};

describe('x-kubernetes-validations', () => {
  it.each(golden.creates.map((c) => [JSON.stringify(c.spec), c] as const))('create %s', (_, c) => {
    expect(causes(c.spec)).toEqual(c.causes.sort());
  });

  it.each(golden.updates.map((c) => [JSON.stringify(c.spec), c] as const))('update to %s', (_, c) => {
    expect(causes(c.spec, golden.old)).toEqual(c.causes.sort());
  });

  it('provides metadata.name at the root', () => {
    expect(causes({}, undefined, 'nope')).toEqual(golden.root);
  });

  it('ignores a violation that existed before the update', () => {
    expect(causes({ lo: 13, bool: true }, { lo: 13 })).toEqual([
      ['FieldValueInvalid', 'spec', 'Invalid value: failed rule: !has(self.lo) || self.lo != 13'],
    ]);
    expect(causes({ list: [{ a: 'bad' }], bool: true }, { list: [{ a: 'bad' }] })).toEqual([]);
  });
});
