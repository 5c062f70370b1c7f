import { describe, expect, it } from 'vitest';
import { gnosticDocument } from './gnostic.ts';
import { readFields } from './testing.ts';

/** Follows field numbers to all values at the end of the path. */
function at(message: Buffer, ...path: number[]): (string | number)[] {
  const [number, ...rest] = path;
  return readFields(message)
    .filter((field) => field.number === number)
    .flatMap((field) =>
      rest.length > 0 ? at(field.bytes, ...rest) : [field.scalar ?? field.bytes.toString()],
    );
}

const ENTRY = 1;
const [NAME, VALUE] = [1, 2];
const [PATHS, DEFINITIONS, PARAMETERS] = [8, 9, 10];
const SCHEMA = [DEFINITIONS, ENTRY, VALUE];

const schemaAt = (schema: object, ...path: number[]): (string | number)[] =>
  at(gnosticDocument({ definitions: { T: schema } }), ...SCHEMA, ...path);

describe('gnosticDocument', () => {
  it('writes the version and the title', () => {
    const bytes = gnosticDocument({ swagger: '2.0', info: { title: 'Kubernetes', version: '1.36' } });
    expect(bytes.toString('latin1')).toBe('\n\x032.0\x12\x12\n\nKubernetes\x12\x041.36');
  });

  it('keeps the order of definitions and fields', () => {
    const property = { type: 'string' };
    const bytes = gnosticDocument({
      definitions: { B: { properties: { z: property, a: property } }, A: {} },
    });
    expect(at(bytes, DEFINITIONS, ENTRY, NAME)).toEqual(['B', 'A']);
    expect(at(bytes, ...SCHEMA, 25, ENTRY, NAME)).toEqual(['z', 'a']);
    expect(at(bytes, ...SCHEMA, 25, ENTRY, VALUE, 22, 1)).toEqual(['string', 'string']);
  });

  it('writes nested schemas', () => {
    expect(schemaAt({ items: { $ref: '#/definitions/U' } }, 23, 1, 1)).toEqual(['#/definitions/U']);
    expect(schemaAt({ additionalProperties: { format: 'int32' } }, 21, 1, 2)).toEqual(['int32']);
    expect(schemaAt({ additionalProperties: true }, 21, 2)).toEqual([1]);
    expect(schemaAt({ required: ['a', 'b'] }, 19)).toEqual(['a', 'b']);
    expect(schemaAt({ minimum: 0.5, maxLength: 300 }, 9)).toEqual([0.5]);
    expect(schemaAt({ minimum: 0.5, maxLength: 300 }, 11)).toEqual([300]);
  });

  it('writes extensions and values as YAML', () => {
    const schema = { enum: ['a', 1], 'x-kubernetes-list-map-keys': ['name'] };
    expect(schemaAt(schema, 20, 2)).toEqual(['"a"', '1']);
    expect(schemaAt(schema, 31, NAME)).toEqual(['x-kubernetes-list-map-keys']);
    expect(schemaAt(schema, 31, VALUE, 2)).toEqual(['["name"]']);
  });

  it('escapes characters that YAML forbids', () => {
    const rule = 'a\u007fb\u2028\ud800 \\ud800 😀"';
    expect(schemaAt({ 'x-rule': rule }, 31, VALUE, 2)).toEqual(['"a\\u007fb\\u2028\\ufffd \\\\ud800 😀\\""']);
  });

  it('omits fields without a value', () => {
    expect(schemaAt({ type: undefined, required: undefined, 'x-none': undefined })).toEqual(['']);
  });

  it('writes operations with their parameters and responses', () => {
    const body = { name: 'body', in: 'body', required: true, schema: { $ref: '#/definitions/T' } };
    const patch = {
      parameters: [body, { $ref: '#/parameters/dryRun' }, { name: 'name', in: 'path', type: 'string' }],
      responses: { 200: { description: 'OK', schema: { $ref: '#/definitions/T' } } },
      'x-kubernetes-group-version-kind': { group: '', version: 'v1', kind: 'T' },
    };
    const bytes = gnosticDocument({
      paths: { '/t': { patch } },
      parameters: { dryRun: { name: 'dryRun', in: 'query', type: 'string' } },
    });
    const operation = [PATHS, 2, VALUE, 8];
    expect(at(bytes, PATHS, 2, NAME)).toEqual(['/t']);
    expect(at(bytes, ...operation, 8, 1, 1, 5, 1)).toEqual(['#/definitions/T']);
    expect(at(bytes, ...operation, 8, 2, 1)).toEqual(['#/parameters/dryRun']);
    expect(at(bytes, ...operation, 8, 1, 2, 4, 4)).toEqual(['name']);
    expect(at(bytes, ...operation, 9, 1, NAME)).toEqual(['200']);
    expect(at(bytes, ...operation, 9, 1, VALUE, 1, 2, 1, 1)).toEqual(['#/definitions/T']);
    expect(at(bytes, ...operation, 13, VALUE, 2)).toEqual(['{"group":"","version":"v1","kind":"T"}']);
    expect(at(bytes, PARAMETERS, ENTRY, VALUE, 2, 3, 4)).toEqual(['dryRun']);
  });
});
