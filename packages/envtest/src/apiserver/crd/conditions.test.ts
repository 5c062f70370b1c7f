import { describe, expect, it } from 'vitest';
import { establish, isEstablished, takenNames } from './conditions.ts';
import type { CustomResourceDefinition, Names } from './types.ts';

const now = new Date('2026-01-02T03:04:05.678Z');
const later = new Date('2026-02-02T03:04:05Z');

const crd = (names: Names): CustomResourceDefinition => ({
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: `${names.plural}.example.com` },
  spec: { group: 'example.com', names },
  status: { conditions: null, acceptedNames: { plural: '', kind: '' }, storedVersions: ['v1'] },
});

const foo = { plural: 'foos', singular: 'foo', kind: 'Foo', listKind: 'FooList', shortNames: ['f'] };

describe('establish', () => {
  it('accepts names that are not in use', () => {
    const status = establish(crd(foo), takenNames('example.com', []), now);
    expect(status).toEqual({
      conditions: [
        {
          type: 'NamesAccepted',
          status: 'True',
          lastTransitionTime: '2026-01-02T03:04:05Z',
          reason: 'NoConflicts',
          message: 'no conflicts found',
        },
        {
          type: 'Established',
          status: 'True',
          lastTransitionTime: '2026-01-02T03:04:05Z',
          reason: 'InitialNamesAccepted',
          message: 'the initial names have been accepted',
        },
      ],
      acceptedNames: foo,
      storedVersions: ['v1'],
    });
    const established = { ...crd(foo), status };
    expect(isEstablished(established)).toBe(true);
    expect(establish(established, takenNames('example.com', []), later)).toBe(status);
  });

  it('reports the name in conflict and accepts the others', () => {
    const { acceptedNames: names } = establish(crd(foo), takenNames('example.com', []), now);
    const first = { group: 'example.com', names };
    const second = crd({ ...foo, plural: 'foo2s', shortNames: ['foos', 'x'] });
    const status = establish(second, takenNames('example.com', [first]), now);
    expect(status.acceptedNames).toEqual({ plural: 'foo2s', kind: '' });
    expect(status.conditions?.map(({ status, reason, message }) => [status, reason, message])).toEqual([
      ['False', 'ListKindConflict', '"FooList" is already in use'],
      ['False', 'NotAccepted', 'not all names are accepted'],
    ]);
    expect(establish(second, takenNames('other.example.com', [first]), now).acceptedNames.kind).toBe('Foo');
  });
});
