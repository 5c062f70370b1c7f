import type { KubeObject } from '@tidegate/kube';
import { describe, expect, test } from 'vitest';
import type { PatchOverrider } from '../../api/index.ts';
import { OverrideError } from './overrider.ts';
import { overrideByPatch } from './patch.ts';

const binding: KubeObject = {
  apiVersion: 'rbac.authorization.k8s.io/v1',
  kind: 'RoleBinding',
  metadata: { name: 'readers', namespace: 'shop' },
  roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'reader' },
  subjects: [{ kind: 'User', name: 'ann', apiGroup: 'rbac.authorization.k8s.io' }],
};
const role: KubeObject = {
  apiVersion: 'rbac.authorization.k8s.io/v1',
  kind: 'Role',
  metadata: { name: 'reader', namespace: 'shop' },
  rules: [{ apiGroups: [''], resources: ['pods'], verbs: ['get'] }],
};
const patched = (object: KubeObject, ...patch: PatchOverrider['patch']) =>
  overrideByPatch(object, { target: { kind: object.kind }, patch }, () => {});

describe('a patch of an object that grants permissions', () => {
  test.each<[string, KubeObject, PatchOverrider['patch'][number]]>([
    ['the role', binding, { op: 'replace', path: '/roleRef/name', value: 'admin' }],
    ['the subjects', binding, { op: 'add', path: '/subjects/-', value: { kind: 'User', name: 'bob' } }],
    ['the rules', role, { op: 'add', path: '/rules/0/verbs/-', value: '*' }],
    ['a field that it did not have', role, { op: 'add', path: '/aggregationRule', value: {} }],
  ])('cannot change %s', (_, object, operation) => {
    const result = patched(object, operation);
    expect(result).toBeInstanceOf(OverrideError);
    expect((result as OverrideError).message).toContain('can change only the metadata');
  });

  test('can change its labels', () => {
    expect(patched(role, { op: 'add', path: '/metadata/labels', value: { site: 'a' } })).toEqual({
      ...role,
      metadata: { ...role.metadata, labels: { site: 'a' } },
    });
  });
});
