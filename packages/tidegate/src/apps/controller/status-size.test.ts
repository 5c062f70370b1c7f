import { describe, expect, it } from 'vitest';
import type { EdgeApplication } from '../../api/index.ts';
import { recordedObjects } from './recorded-objects.ts';
import { type Outcome, pendingStatus, statusOf } from './status.ts';
import { sizeProblem } from './status-size.ts';

const GROUPS = 100;
const MANIFESTS = 40;
const application: EdgeApplication = {
  apiVersion: 'apps.kubeedge.io/v1alpha1',
  kind: 'EdgeApplication',
  metadata: { name: 'large', namespace: 'production', generation: 1 },
  spec: { workloadScope: {}, workloadTemplate: { manifests: [] } },
};
const names = Array.from({ length: GROUPS * MANIFESTS }, (_, i) => ({
  ordinal: i % MANIFESTS,
  group: 'apps',
  version: 'v1',
  kind: 'Deployment',
  resource: 'deployments',
  namespace: 'production',
  name: `service-${i % MANIFESTS}-site-${Math.floor(i / MANIFESTS)}`,
}));
const outcomes = (available: boolean): Outcome[] =>
  names.map((identifier, i) => ({
    identifier: { ...identifier, uid: `00000000-0000-4000-8000-${String(i).padStart(12, '0')}` },
    available,
    reason: available ? 'Available' : 'CrashLoopBackOff',
    message: '0 of 1 pods are available; 1 pod: CrashLoopBackOff (container web: exit code 1, Error)',
  }));
const findings = (available: boolean) => ({ outcomes: outcomes(available), errors: [], missing: [] });
const bytesOf = (value: unknown): number => Buffer.byteLength(JSON.stringify(value));
const LIMIT = 1_400_000;

describe('the status of 100 groups with 40 manifests', () => {
  it.each([true, false])('fits into etcd and keeps every object, if they are available: %s', (available) => {
    const status = statusOf(application, findings(available), 0);
    expect(bytesOf(status)).toBeLessThan(LIMIT);
    const recorded = recordedObjects({ ...application, status });
    expect(recorded.size).toBe(GROUPS * MANIFESTS);
    for (const { identifier } of recorded.values()) expect(identifier.uid).toBeDefined();
    expect(status.manifestStatuses?.filter(({ conditions }) => conditions !== undefined)).toHaveLength(
      available ? 0 : 300,
    );
  });

  it('fits before the objects are created, and keeps which of them exist already', () => {
    const objects = names.map((identifier, i) => ({ identifier, exists: i === 7 }));
    const status = pendingStatus(application, objects, 0);
    expect(bytesOf(status)).toBeLessThan(LIMIT);
    const recorded = [...recordedObjects({ ...application, status }).values()];
    expect(recorded.filter(({ isPending }) => !isPending)).toEqual([
      { identifier: names[7], isPending: false, hasFailed: false },
    ]);
  });

  it('is refused before it is too large', () => {
    const objects = names.map((metadata) => ({ object: { metadata } }));
    expect(sizeProblem(application, objects)).toBeUndefined();
    expect(sizeProblem(application, [...objects, ...objects])).toMatch(
      /the status of 8000 objects does not fit/,
    );
  });
});

it('has all conditions if the application is small', () => {
  const few = { ...findings(true), outcomes: outcomes(true).slice(0, 10) };
  const { manifestStatuses, workloadStatus } = statusOf(application, few, 0);
  expect(manifestStatuses?.every(({ conditions }) => conditions?.length === 2)).toBe(true);
  expect(workloadStatus).toHaveLength(10);
});
