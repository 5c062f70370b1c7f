import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { builtinSchema } from '../schema/builtin.ts';
import { decode } from '../schema/decode.ts';
import { crdStrategy } from './strategy.ts';
import type { CustomResourceDefinition } from './types.ts';

type Cause = [reason: string, field: string, message: string];

interface Case {
  /** Paths and the values to set; null removes the field. */
  set: Record<string, unknown>;
  causes: Cause[];
  warnings?: string[];
}

// A valid definition, invalid variants of it, and the recorded answers of kube-apiserver 1.36.
const golden = JSON.parse(readFileSync(new URL('./testdata/validation.json', import.meta.url), 'utf8')) as {
  base: Record<string, unknown>;
  cases: Case[];
};

function spoiled(changes: Record<string, unknown>): CustomResourceDefinition {
  const crd = structuredClone(golden.base);
  for (const [path, value] of Object.entries(changes)) {
    const steps = path.split('.');
    const last = steps.pop() ?? '';
    let at = crd;
    for (const step of steps) at = at[step] as Record<string, unknown>;
    if (path === 'metadata.name') (at as Record<string, unknown>).name = value;
    else if (value === null) delete at[last];
    else at[last] = value;
  }
  const schema = builtinSchema('apiextensions.k8s.io/v1', 'CustomResourceDefinition');
  const { object } = decode(crd, { schema });
  return object as CustomResourceDefinition;
}

/** The defaulting of the resource, which runs before validation. */
function withDefaults(crd: CustomResourceDefinition): CustomResourceDefinition {
  const names = crd.spec.names ?? {};
  names.singular ||= names.kind?.toLowerCase() ?? '';
  if (names.kind) names.listKind ||= `${names.kind}List`;
  crd.spec.conversion ??= { strategy: 'None' };
  return crd;
}

// The format of object names is checked elsewhere.
const isAboutNameForm = ([, field, message]: Cause): boolean =>
  field === 'metadata.name' && message.includes('RFC 1123');

describe('validation of CustomResourceDefinitions', () => {
  it.each(golden.cases.map((c) => [JSON.stringify(c.set), c] as const))(
    '%s',
    (_, { set, causes, warnings }) => {
      const crd = withDefaults(spoiled(set));
      crdStrategy.prepareForCreate?.(crd, {} as never);
      const errors = (crdStrategy.validate?.(crd) ?? []).map((e): Cause => [e.reason, e.field, e.body]);
      expect(errors).toEqual(causes.filter((cause) => !isAboutNameForm(cause)));
      expect(crdStrategy.warnings?.(crd, undefined)).toEqual(warnings ?? []);
    },
  );

  it('keeps every version in which objects are stored', () => {
    const old = withDefaults(spoiled({}));
    crdStrategy.prepareForCreate?.(old, {} as never);
    const changed = structuredClone(old);
    const [first] = changed.spec.versions ?? [];
    changed.spec.versions = [{ ...first, name: 'v2' }];
    crdStrategy.prepareForUpdate?.(changed, old, {} as never);
    expect(changed.status?.storedVersions).toEqual(['v1', 'v2']);
    expect(crdStrategy.validate?.(changed, old).map((e) => e.body)).toEqual([
      'Invalid value: "v1": missing from spec.versions; v1 was previously a storage version, and must remain in spec.versions until a storage migration ensures no data remains persisted in v1 and removes v1 from status.storedVersions',
    ]);
  });
});
