import { describe, expect, it } from 'vitest';
import { builtinResources, type ServiceAllocator } from '../resources/index.ts';
import { noHooks } from '../resources/testing.ts';
import { Registry, type Served } from '../served/registry.ts';
import type { BodyFormat } from './body.ts';
import { conformPatched, decodeObject, type FieldChecks, type Patched, readApplyBody } from './decode.ts';

const registry = new Registry();
for (const definition of builtinResources(noHooks({} as ServiceAllocator))) registry.set(definition);
const pods = registry.lookup('', 'v1', 'pods') as Served;

const BODY = `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a","foo":1},"foo":{},"spec":{"bar":1,"containers":[{"name":"a","image":"x","image":"b","baz":1,"resources":{"limits":{"cpu":"1","cpu":"2"}},"env":[{"name":"a","value":"1"},{"name":"a","valu":"1"}]}]}}`;
const YAML_BODY = `apiVersion: v1
kind: Pod
metadata:
  name: a
  foo: 1
spec:
  bar: 1
  bar: 2
  containers:
  - name: a
    image: x
    image: b
`;

const strictly = { fieldValidation: 'Strict' as const, warn: () => {} };

describe('strict field validation', () => {
  const strict = (text: string, format: BodyFormat) => () =>
    decodeObject(pods, Buffer.from(text), { ...strictly, format });

  it('finds unknown and duplicate fields in JSON', () => {
    expect(strict(BODY, 'json')).toThrow(
      'Pod in version "v1" cannot be handled as a Pod: strict decoding error: unknown field "metadata.foo", unknown field "foo", unknown field "spec.bar", duplicate field "spec.containers[0].image", unknown field "spec.containers[0].baz", duplicate field "spec.containers[0].resources.limits.cpu", unknown field "spec.containers[0].env[1].valu"',
    );
  });

  it('reports the lines of duplicate keys in YAML', () => {
    expect(strict(YAML_BODY, 'yaml')).toThrow(
      `Pod in version "v1" cannot be handled as a Pod: strict decoding error: yaml: unmarshal errors:
  line 8: key "bar" already set in map
  line 12: key "image" already set in map, unknown field "metadata.foo", unknown field "spec.bar"`,
    );
  });
});

describe('duplicate keys in the document of an apply', () => {
  const apply = (
    fieldValidation: FieldChecks['fieldValidation'],
    warn: (message: string) => void = () => {},
  ) => readApplyBody('Pod', Buffer.from(YAML_BODY), { fieldValidation, warn });

  it('are an error with strict field validation', () => {
    expect(() => apply('Strict')).toThrow(
      `error strict decoding YAML: yaml: unmarshal errors:
  line 8: key "bar" already set in map
  line 12: key "image" already set in map`,
    );
  });

  it('are warnings by default, and the last value is used', () => {
    const warnings: string[] = [];
    expect(apply('Warn', (message) => warnings.push(message))).toMatchObject({ spec: { bar: 2 } });
    expect(warnings).toEqual([
      'line 8: key "bar" already set in map',
      'line 12: key "image" already set in map',
    ]);
    expect(apply('Ignore')).toMatchObject({ spec: { bar: 2 } });
  });
});

describe('the result of a patch', () => {
  const patched = (object: Record<string, unknown>, how: Partial<Patched> = {}) =>
    conformPatched(
      pods,
      { object, shown: () => 'map[spec:x]', words: 'converter', problems: [], ...how },
      strictly,
    );

  it('is rejected with an error that shows the patch', () => {
    expect(() => patched({ spec: 'x' })).toThrow(
      ' "" is invalid: patch: Invalid value: "map[spec:x]": cannot restore struct from: string',
    );
    expect(() => patched({ foo: 1 }, { problems: ['duplicate field "spec"'] })).toThrow(
      'strict decoding error: duplicate field "spec", unknown field "foo"',
    );
  });

  it('cannot have another kind, except for patches that do not check it', () => {
    expect(patched({ kind: 'Foo' })).toMatchObject({ kind: 'Pod', apiVersion: 'v1' });
    expect(() => patched({ kind: 'Foo' }, { words: 'json' })).toThrow(
      'no kind "Foo" is registered for version "v1" in scheme "pkg/api/legacyscheme/scheme.go:30"',
    );
  });
});
