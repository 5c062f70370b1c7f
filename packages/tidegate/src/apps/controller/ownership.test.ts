import type { KubeObject } from '@tidegate/kube';
import { describe, expect, it } from 'vitest';
import { APPS_FIELD_MANAGER, type EdgeApplication } from '../../api/index.ts';
import { isControlledBy, isCreatedBy, isOwnedBy, isTakenOver, type Recorded } from './ownership.ts';

const CREATED = '2026-06-01T00:00:00Z';

/** A ConfigMap that our field manager has applied at this time. */
const configMap = (uid: string, appliedAt = CREATED): KubeObject => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: {
    name: 'menu',
    uid,
    creationTimestamp: CREATED,
    managedFields: [{ manager: APPS_FIELD_MANAGER, operation: 'Apply', time: appliedAt }],
  },
});
const recorded = (uid: string | undefined, isPending = false, hasFailed = false): Recorded =>
  ({ identifier: { name: 'menu', ...(uid !== undefined && { uid }) }, isPending, hasFailed }) as Recorded;

describe('an object was created by an application', () => {
  it('if the status has its UID', () => {
    expect(isCreatedBy(configMap('a'), recorded('a'))).toBe(true);
  });

  it('not if the status has no entry, or the UID of another object of the same name', () => {
    expect(isCreatedBy(configMap('a'), undefined)).toBe(false);
    expect(isCreatedBy(configMap('a'), recorded('b'))).toBe(false);
    expect(isCreatedBy(configMap('a'), recorded('b', true))).toBe(false);
    expect(isCreatedBy(configMap('a'), recorded(undefined))).toBe(false);
  });

  it('if the entry is pending, and our apply created it', () => {
    expect(isCreatedBy(configMap('a'), recorded(undefined, true))).toBe(true);
    expect(isCreatedBy(configMap('a', '2026-06-01T00:01:00Z'), recorded(undefined, true))).toBe(false);
  });

  it('if its last recorded apply failed, and a later apply of ours created it', () => {
    expect(isCreatedBy(configMap('a'), recorded(undefined, false, true))).toBe(true);
    expect(isCreatedBy(configMap('a', '2026-06-01T00:01:00Z'), recorded(undefined, false, true))).toBe(false);
  });
});

describe('an object counts as created by its controller', () => {
  const application = { metadata: { name: 'shop', namespace: 'default', uid: 'app' } } as EdgeApplication;
  const owned = (namespace: string | undefined, owner: object): KubeObject => ({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: {
      name: 'menu',
      ...(namespace !== undefined && { namespace }),
      ownerReferences: [
        {
          apiVersion: 'apps.kubeedge.io/v1alpha1',
          kind: 'EdgeApplication',
          name: 'shop',
          uid: 'app',
          ...owner,
        },
      ],
    },
  });

  it('only where the garbage collector would delete it with the application', () => {
    expect(isControlledBy(owned('default', { controller: true }), application)).toBe(true);
    // The garbage collector ignores owners in other namespaces.
    expect(isControlledBy(owned('other', { controller: true }), application)).toBe(false);
    expect(isControlledBy(owned(undefined, { controller: true }), application)).toBe(false);
    // An earlier application of the same name.
    expect(isControlledBy(owned('default', { controller: true, uid: 'old' }), application)).toBe(false);
    // Any owner, or a label alone.
    expect(isControlledBy(owned('default', {}), application)).toBe(false);
    expect(isControlledBy(owned('default', { controller: false }), application)).toBe(false);
  });

  it('not if the application itself names the controller of the object, because its author writes that', () => {
    const victim = owned('default', {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      uid: 'db',
      controller: true,
    });
    const { ownerReferences = [] } = victim.metadata;
    const forged = { metadata: { ...application.metadata, ownerReferences } } as EdgeApplication;
    expect(isControlledBy(victim, forged)).toBe(false);
    expect(isTakenOver(victim, forged)).toBe(false);
    expect(isOwnedBy(victim, forged, true)).toBe(false);
  });
});

describe('an application takes over an object', () => {
  const owner = { apiVersion: 'apps.openyurt.io/v1beta1', kind: 'YurtAppSet', name: 'web', uid: 'set' };
  const at = (namespace: string, more: object = {}): KubeObject => ({
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'web', namespace, ownerReferences: [{ ...owner, controller: true, ...more }] },
  });
  const application = at('default') as unknown as EdgeApplication;

  it('of the YurtAppSet that it was created for', () => {
    expect(isTakenOver(at('default'), application)).toBe(true);
    expect(isOwnedBy(at('default'), application, false)).toBe(true);
    // It is deleted only after its UID was recorded, which happens when a checked manifest renders it.
    expect(isControlledBy(at('default'), application)).toBe(false);
  });

  it('not of another one, or in another namespace', () => {
    expect(isTakenOver(at('default', { uid: 'other' }), application)).toBe(false);
    expect(isTakenOver(at('default', { controller: false }), application)).toBe(false);
    expect(isTakenOver(at('other'), application)).toBe(false);
  });
});
