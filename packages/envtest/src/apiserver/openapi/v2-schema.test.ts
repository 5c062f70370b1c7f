import { describe, expect, it } from 'vitest';
import { toV2Definition, toV2Schema } from './v2-schema.ts';

const OPEN = { 'x-kubernetes-preserve-unknown-fields': true };

describe('toV2Schema', () => {
  it.each([
    ['a reference', { $ref: '#/components/schemas/io.T' }, { $ref: '#/definitions/io.T' }],
    [
      'a reference with a description',
      { description: 'd', default: {}, allOf: [{ $ref: '#/components/schemas/io.T' }] },
      { description: 'd', $ref: '#/definitions/io.T' },
    ],
    ['a quantity', { oneOf: [{ type: 'string' }, { type: 'number' }] }, { type: 'string' }],
    [
      'an int-or-string of a custom resource',
      { anyOf: [{ type: 'integer' }, { type: 'string' }], 'x-kubernetes-int-or-string': true },
      { 'x-kubernetes-int-or-string': true },
    ],
    [
      'validations',
      { type: 'string', minLength: 1, pattern: 'a', not: { enum: ['b'] }, allOf: [{ maxLength: 3 }] },
      { type: 'string', minLength: 1, pattern: 'a' },
    ],
    ['a nullable value', { type: 'string', nullable: true, enum: ['a'] }, { enum: ['a'] }],
    ['a nullable list', { type: 'array', nullable: true, items: { type: 'string' } }, {}],
    ['an open object', { type: 'object', properties: { a: { type: 'string' } }, ...OPEN }, OPEN],
    ['an open list', { type: 'array', items: { type: 'object' }, ...OPEN }, OPEN],
    [
      'fields that are required but nullable',
      { type: 'object', required: ['a', 'b'], properties: { a: { nullable: true }, b: { default: 1 } } },
      { type: 'object', required: ['b'], properties: { a: {}, b: {} } },
    ],
    [
      'a map of nullable values',
      { type: 'object', required: ['a'], additionalProperties: { type: 'integer', nullable: true } },
      { type: 'object', additionalProperties: {} },
    ],
    ['a map of anything', { additionalProperties: true }, { additionalProperties: true }],
  ])('converts %s', (_, v3, v2) => {
    expect(JSON.parse(JSON.stringify(toV2Schema(v3)))).toEqual(v2);
  });
});

describe('toV2Definition', () => {
  it('keeps only the kind of an object with unknown fields', () => {
    const gvk = { 'x-kubernetes-group-version-kind': [{ group: 'g', version: 'v1', kind: 'K' }] };
    const schema = { type: 'object', description: 'd', properties: { kind: { type: 'string' } } };
    expect(toV2Definition({ ...schema, ...OPEN, ...gvk })).toEqual({ type: 'object', ...gvk });
  });
});
