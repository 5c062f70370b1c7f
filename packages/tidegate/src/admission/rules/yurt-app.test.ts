import type { KubeObject } from '@tidegate/kube';
import { describe, expect, it } from 'vitest';
import type { NodePool, YurtAppOverrider } from '../../api/index.ts';
import type { AccessRequest } from '../access.ts';
import type { AdmissionRequest, AdmissionResult } from '../review.ts';
import { ruleFor } from '../rule.ts';
import { yurtAppRules } from './yurt-app.ts';

const GROUP = 'apps.openyurt.io';
const spec = (container = 'web') => ({
  pools: ['east'],
  workload: {
    workloadTemplate: {
      deploymentTemplate: {
        spec: {
          selector: { matchLabels: { app: 'a' } },
          template: {
            metadata: { labels: { app: 'a' } },
            spec: { containers: [{ name: 'web', image: 'web:1' }] },
          },
        },
      },
    },
    workloadTweaks: [
      { pools: ['east'], tweaks: { containerImages: [{ name: container, targetImage: 'web:2' }] } },
    ],
  },
});
const app = (body: object = spec()): KubeObject => ({
  apiVersion: `${GROUP}/v1beta1`,
  kind: 'YurtAppSet',
  metadata: { name: 'shop', namespace: 'team' },
  spec: body,
});
const overrider = (name: string, container = 'web'): KubeObject => ({
  apiVersion: `${GROUP}/v1alpha1`,
  kind: 'YurtAppOverrider',
  metadata: { name, namespace: 'team' },
  subject: { kind: 'YurtAppSet', name: 'shop' },
  entries: [{ pools: ['*'], items: [{ image: { containerName: container, imageClaim: 'web:3' } }] }],
});

const REST = { verbs: [], singular: '', shortNames: [], categories: [], subresources: [] };

/** `may`: the permissions of the author. */
async function review(
  object: KubeObject,
  {
    oldObject = null,
    overriders = [] as KubeObject[],
    subject = app() as KubeObject | undefined,
    may = (_: AccessRequest): boolean => true,
  } = {},
): Promise<AdmissionResult> {
  const resource = `${object.kind.toLowerCase()}s`;
  const request: AdmissionRequest = {
    uid: 'u',
    kind: { group: GROUP, version: 'v1beta1', kind: object.kind },
    resource: { group: GROUP, version: 'v1beta1', resource },
    name: `${object.metadata.name}`,
    namespace: 'team',
    operation: oldObject === null ? 'CREATE' : 'UPDATE',
    userInfo: { username: 'ann' },
    object,
    oldObject,
  };
  const rules = yurtAppRules({
    permissions: {
      access: (_, wanted) => Promise.resolve(may(wanted)),
      discovery: {
        forKind: ({ kind, ...rest }) =>
          Promise.resolve({ ...rest, kind, resource: `${kind.toLowerCase()}s`, namespaced: true, ...REST }),
      },
    },
    pools: { list: () => [{ metadata: { name: 'east' } } as NodePool] },
    overriders: { list: () => overriders as unknown as YurtAppOverrider[] },
    subject: () => subject as never,
  });
  return ruleFor(rules, request)!.evaluate(request);
}

const leaving = (object: KubeObject): KubeObject => ({
  ...object,
  metadata: {
    ...object.metadata,
    deletionTimestamp: '2026-01-01T00:00:00Z',
    finalizers: ['example.com/hold'],
  },
});

describe('a YurtAppSet', () => {
  it('is accepted if its author may create the workloads', async () => {
    expect(await review(app())).toEqual({ warnings: [] });
  });

  it('is refused if its author may not create the workloads', async () => {
    const { forbidden } = await review(app(), { may: ({ verb }) => verb !== 'create' });
    expect(forbidden).toContain(
      'spec.workload.workloadTemplate.deploymentTemplate: user "ann" cannot create deployments.apps in namespace "team"',
    );
  });

  it('is refused if a tweak cannot be applied, with its field', async () => {
    expect((await review(app(spec('wbe')))).problems).toEqual([
      {
        path: 'spec.workload.workloadTweaks[0].tweaks.containerImages[0].name',
        message: 'the template has no container "wbe": correct the name',
      },
    ]);
  });

  it('is refused without a template', async () => {
    expect((await review(app({ pools: ['east'], workload: {} }))).problems?.[0]?.path).toBe(
      'spec.workload.workloadTemplate',
    );
  });

  it('is accepted with a warning if its YurtAppOverrider cannot be applied', async () => {
    const { problems, warnings } = await review(app(), { overriders: [overrider('wrong', 'wbe')] });
    expect(problems).toBeUndefined();
    expect(warnings).toEqual([
      'YurtAppOverrider wrong: entries[0].items[0].image.containerName: the template has no container "wbe": correct the name',
    ]);
  });

  it('is checked in the same way while it is being deleted', async () => {
    const changed = leaving(app({ ...spec(), pools: ['east', 'west'] }));
    const may = ({ verb }: AccessRequest): boolean => verb !== 'create';
    const { forbidden } = await review(changed, { oldObject: leaving(app()) as never, may });
    expect(forbidden).toContain('user "ann" cannot create deployments.apps');
  });

  it('with mistakes from before can get labels', async () => {
    const stored = app(spec('wbe'));
    const labeled = { ...stored, metadata: { ...stored.metadata, labels: { a: 'b' } } };
    expect(await review(labeled, { oldObject: stored as never })).toEqual({});
  });
});

describe('a YurtAppOverrider', () => {
  it('is accepted if its author may change the workloads of the subject', async () => {
    expect(await review(overrider('one'))).toEqual({});
  });

  it('is refused if its author may not change the workloads', async () => {
    const may = ({ verb }: AccessRequest): boolean => verb !== 'patch';
    expect((await review(overrider('one'), { may })).forbidden).toContain('user "ann" cannot patch');
    // The subject may be created later, by another user.
    expect((await review(overrider('one'), { may, subject: undefined })).forbidden).toContain(
      'user "ann" cannot patch deployments.apps in namespace "team"',
    );
  });

  it('is checked in the same way while it is being deleted, because it may still be held by a finalizer', async () => {
    const stored = leaving(overrider('one'));
    const changed = { ...stored, entries: [{ pools: ['*'], items: [{ replicas: 9 }] }] };
    const may = ({ verb }: AccessRequest): boolean => verb !== 'patch';
    expect((await review(changed, { oldObject: stored as never, may })).forbidden).toContain(
      'user "ann" cannot patch',
    );
    // The removal of the finalizer changes nothing that is applied.
    const released = { ...stored, metadata: { ...stored.metadata, finalizers: [] } };
    expect(await review(released, { oldObject: stored as never, may })).toEqual({});
  });

  it('can replace one that is being deleted', async () => {
    expect(await review(overrider('two'), { overriders: [leaving(overrider('one'))] })).toEqual({});
  });

  it('is refused if the subject has another one', async () => {
    expect((await review(overrider('two'), { overriders: [overrider('one')] })).problems).toEqual([
      {
        path: 'subject',
        message: 'YurtAppSet team/shop already has the YurtAppOverrider one: add the entries there',
      },
    ]);
  });

  it('is refused if an entry cannot be applied, with its field', async () => {
    expect((await review(overrider('one', 'wbe'))).problems).toEqual([
      {
        path: 'entries[0].items[0].image.containerName',
        message: 'the template has no container "wbe": correct the name',
      },
    ]);
  });
});
