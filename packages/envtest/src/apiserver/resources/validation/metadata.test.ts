import { fieldErrorMessage } from '@tidegate/serving';
import { expect, it } from 'vitest';
import { validateObjectMeta, validateObjectMetaUpdate } from './metadata.ts';
import { nameIsSubdomain } from './names.ts';

const rules = { namespaced: true, checkName: nameIsSubdomain };
const old = {
  name: 'x',
  namespace: 'a',
  uid: 'u',
  resourceVersion: '1',
  creationTimestamp: '2026-01-01T00:00:00Z',
};
const update = (change: object, before: object = old): string[] =>
  validateObjectMetaUpdate({ ...old, ...change }, before).map(fieldErrorMessage);

it('requires a name and a namespace', () => {
  expect(validateObjectMeta({}, rules).map(fieldErrorMessage)).toEqual([
    'metadata.name: Required value: name or generateName is required',
    'metadata.namespace: Required value',
  ]);
});

it('allows a generateName to end in a dash', () => {
  const meta = { name: 'web-x2b4c', generateName: 'web-', namespace: 'a' };
  expect(validateObjectMeta(meta, rules)).toEqual([]);
});

it('rejects a namespace for cluster-scoped kinds', () => {
  const errors = validateObjectMeta({ name: 'x', namespace: 'a' }, { ...rules, namespaced: false });
  expect(errors.map(fieldErrorMessage)).toEqual(['metadata.namespace: Forbidden: not allowed on this type']);
});

it('rejects changes of name, namespace and uid', () => {
  expect(update({})).toEqual([]);
  expect(update({ name: 'y' })).toEqual(['metadata.name: Invalid value: "y": field is immutable']);
  expect(update({ uid: 'v' })).toEqual(['metadata.uid: Invalid value: "v": field is immutable']);
  expect(update({ resourceVersion: '' })).toEqual([
    'metadata.resourceVersion: Invalid value: "": must be specified for an update',
  ]);
});

it('rejects new finalizers for an object that is being deleted', () => {
  const deleted = { ...old, deletionTimestamp: '2026-01-01T00:00:01Z', finalizers: ['a/b'] };
  expect(update({ ...deleted, finalizers: ['a/b', 'c/d'] }, deleted)).toEqual([
    'metadata.finalizers: Forbidden: no new finalizers can be added if the object is being deleted, found new finalizers []string{"c/d"}',
  ]);
  expect(update({ ...deleted, finalizers: [] }, deleted)).toEqual([]);
});

it('limits the total size of annotations', () => {
  const annotations = { a: 'x'.repeat(200_000), b: 'x'.repeat(100_000) };
  expect(
    validateObjectMeta({ name: 'x', namespace: 'a', annotations }, rules).map(fieldErrorMessage),
  ).toEqual(['metadata.annotations: Too long: may not be more than 262144 bytes']);
});
