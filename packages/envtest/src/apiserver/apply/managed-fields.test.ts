import type { KubeObject, ManagedFieldsEntry } from '@tidegate/kube';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { builtinSchema } from '../schema/builtin.ts';
import { type FieldSet, pathsOf, union } from './fieldset.ts';
import { managerName, trackUpdate, withoutChangeOfTimesOnly } from './managed-fields.ts';
import { spec, WIDGET_SCHEMA, widget } from './testing.ts';

const at = (second: number): Date => new Date(Date.UTC(2026, 0, 1, 0, 0, second, 789));
const context = { manager: 'm', apiVersion: 'example.com/v1', schema: WIDGET_SCHEMA, now: at(0) };

const withOwners = (object: KubeObject, managedFields: ManagedFieldsEntry[] | undefined): KubeObject => ({
  ...object,
  metadata: { ...object.metadata, managedFields },
});

const ownedPaths = (entries: ManagedFieldsEntry[] | undefined): Set<string> => {
  const all = (entries ?? []).map((entry) => entry.fieldsV1 as FieldSet).reduce(union, {});
  return new Set([...pathsOf(all)].map((path) => path.join('/')));
};

describe('trackUpdate', () => {
  it('makes the creator the owner of every field that can have one', () => {
    const object = widget(
      { size: 1, ports: [{ port: 80 }] },
      {
        name: 'w',
        namespace: 'n',
        uid: 'u',
        resourceVersion: '1',
        generation: 1,
        creationTimestamp: '2026-01-01T00:00:00Z',
        ownerReferences: [{ apiVersion: 'v1', kind: 'Pod', name: 'p', uid: 'p-1' }],
      },
    );
    expect(trackUpdate({ ...context, live: undefined, updated: object })).toEqual([
      {
        manager: 'm',
        operation: 'Update',
        apiVersion: 'example.com/v1',
        time: '2026-01-01T00:00:00Z',
        fieldsType: 'FieldsV1',
        fieldsV1: {
          'f:metadata': { 'f:ownerReferences': { '.': {}, 'k:{"uid":"p-1"}': {} } },
          'f:spec': {
            '.': {},
            'f:ports': { '.': {}, 'k:{"port":80,"proto":"TCP"}': { '.': {}, 'f:port': {} } },
            'f:size': {},
          },
        },
      },
    ]);
  });

  it('leaves managers and their times unchanged if nothing changes', () => {
    fc.assert(
      fc.property(spec, (content) => {
        const object = widget(content);
        const created = trackUpdate({ ...context, live: undefined, updated: object });
        const live = withOwners(object, created);
        const again = trackUpdate({
          ...context,
          manager: 'other',
          now: at(9),
          live,
          updated: structuredClone(live),
        });
        expect(again).toEqual(created);
      }),
    );
  });

  it('owns the same paths after an update as after a create of the result', () => {
    fc.assert(
      fc.property(spec, spec, (before, after) => {
        const created = trackUpdate({ ...context, live: undefined, updated: widget(before) });
        const live = withOwners(widget(before), created);
        const updated = trackUpdate({ ...context, manager: 'other', live, updated: widget(after) });
        const fresh = trackUpdate({ ...context, live: undefined, updated: widget(after) });
        expect(ownedPaths(updated)).toEqual(ownedPaths(fresh));
      }),
    );
  });

  it('treats items with the same key as one value that cannot be owned in parts', () => {
    const twins = widget({
      ports: [
        { port: 80, note: 'a' },
        { port: 80, note: 'b' },
      ],
    });
    const [entry] = trackUpdate({ ...context, live: undefined, updated: twins }) ?? [];
    expect(entry?.fieldsV1).toEqual({
      'f:spec': { '.': {}, 'f:ports': { '.': {}, 'k:{"port":80,"proto":"TCP"}': {} } },
    });
  });

  it('replaces paths inside a field that has become atomic', () => {
    const fieldsV1 = { 'f:spec': { 'f:whole': { 'f:a': {} }, 'f:size': {} } };
    const managedFields: ManagedFieldsEntry[] = [
      { manager: 'old', operation: 'Update', apiVersion: 'example.com/v1', fieldsType: 'FieldsV1', fieldsV1 },
    ];
    const live = widget({ size: 1, whole: { a: 'b' } }, { name: 'w', uid: 'u', managedFields });
    const updated = widget({ size: 1, whole: { a: 'b' } });
    expect(trackUpdate({ ...context, live, updated })?.[0]?.fieldsV1).toEqual({
      'f:spec': { 'f:size': {}, 'f:whole': {} },
    });
  });

  it('sorts the keys of fieldsV1 of a built-in kind as kube-apiserver does', () => {
    const pod: KubeObject = {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: 'p' },
      spec: {
        containers: [{ name: 'c', resources: {}, ports: [{ containerPort: 443 }, { containerPort: 80 }] }],
      },
    };
    const schema = builtinSchema('v1', 'Pod');
    const [entry] =
      trackUpdate({ ...context, apiVersion: 'v1', schema, live: undefined, updated: pod }) ?? [];
    expect(JSON.stringify(entry?.fieldsV1)).toBe(
      '{"f:spec":{"f:containers":{"k:{\\"name\\":\\"c\\"}":{".":{},"f:name":{},"f:ports":{".":{},' +
        '"k:{\\"containerPort\\":80,\\"protocol\\":\\"TCP\\"}":{".":{},"f:containerPort":{}},' +
        '"k:{\\"containerPort\\":443,\\"protocol\\":\\"TCP\\"}":{".":{},"f:containerPort":{}}},"f:resources":{}}}}}',
    );
  });
});

describe('withoutChangeOfTimesOnly', () => {
  const owned = (size: number, time: Date): KubeObject => {
    const object = widget({ size });
    return withOwners(object, trackUpdate({ ...context, now: time, live: undefined, updated: object }));
  };

  it('ignores a different time but not a different value', () => {
    const live = owned(1, at(0));
    expect(withoutChangeOfTimesOnly(live, owned(1, at(9)))).toBe(live);
    const changed = owned(2, at(9));
    expect(withoutChangeOfTimesOnly(live, changed)).toBe(changed);
  });

  it('keeps a change of managers', () => {
    const live = owned(1, at(0));
    const cleared = withOwners(live, undefined);
    expect(withoutChangeOfTimesOnly(live, cleared)).toBe(cleared);
  });
});

describe('managerName', () => {
  it.each([
    ['kubectl-edit', 'kubectl/v1.32', 'kubectl-edit'],
    ['', 'kubectl/v1.32 (linux/amd64)', 'kubectl'],
    ['', 'Mozilla 5.0 (X11)', 'Mozilla 5.0 (X11)'],
    ['', 'bad\u0007bell/1', 'badbell'],
    ['', '', 'unknown'],
    ['', 'x'.repeat(200), 'x'.repeat(128)],
  ])('%j, %j -> %j', (fieldManager, userAgent, expected) => {
    expect(managerName(fieldManager, userAgent)).toBe(expected);
  });
});
