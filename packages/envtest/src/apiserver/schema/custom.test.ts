import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { decodeCustom } from './custom.ts';
import { validateListsAndResources } from './embedded.ts';
import type { Schema } from './types.ts';
import { validateSchema } from './validate.ts';

interface Case {
  spec: Record<string, unknown>;
  result?: unknown;
  warnings?: string[];
  causes?: [reason: string, field: string, message: string][];
}

// A schema with every keyword, and the recorded answers of kube-apiserver 1.36 for each spec.
const golden = JSON.parse(readFileSync(new URL('./testdata/custom.json', import.meta.url), 'utf8')) as {
  schema: Schema;
  cases: Case[];
};

const read = (spec: unknown, metadata: unknown = { name: 'a' }) =>
  decodeCustom({ apiVersion: 'h.example.com/v1', kind: 'Foo', metadata, spec }, { schema: golden.schema });

const validate = (object: unknown, old?: unknown) => [
  ...validateSchema(object, golden.schema, old),
  ...validateListsAndResources(object, golden.schema, old),
];

describe('custom resources', () => {
  it.each(golden.cases.map((c) => [JSON.stringify(c.spec), c] as const))(
    '%s',
    (_, { spec, result, warnings, causes }) => {
      const { object, problems } = read(spec);
      const errors = validate(object).map((e) => [e.reason, e.field, e.body]);
      // kube-apiserver iterates over maps in random order.
      expect(errors.sort()).toEqual((causes ?? []).sort());
      if (result !== undefined) expect(object.spec).toEqual(result);
      if (result !== undefined) expect(problems.sort()).toEqual((warnings ?? []).sort());
    },
  );

  it('does not check unchanged values again', () => {
    const bad = read({ req: 'x', int: 99, str: 'ab', maps: [{ k: 'a', v: 'old' }] }).object;
    const changed = structuredClone(bad);
    (changed.spec as Record<string, unknown>).int = 100;
    const fields = validate(changed, bad).map((e) => e.field);
    expect(fields).toEqual(['spec.int']);
  });

  it('checks metadata against the type of all objects', () => {
    expect(() => read({ req: 'x' }, { name: 'a', labels: { a: 5 } })).toThrow(
      'json: cannot unmarshal number into Go struct field ObjectMeta.labels of type string',
    );
    expect(() => read({ req: 'x' }, 'x')).toThrow(
      'json: cannot unmarshal string into Go value of type v1.ObjectMeta',
    );
    expect(() => read({ req: 'x', emb: { metadata: { labels: { a: 5 }, name: 'A_' } } })).toThrow(
      'spec.emb.metadata: Invalid value: {"labels":{"a":5},"name":"A_"}: json: cannot unmarshal number into Go struct field ObjectMeta.labels of type string',
    );
    expect(read({ req: 'x' }, { name: 'a', foo: 1 }).problems).toEqual(['unknown field "metadata.foo"']);
  });
});
