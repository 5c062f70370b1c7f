import type { KubeObject, ManagedFieldsEntry } from '@tidegate/kube';
import { describe, expect, it } from 'vitest';
import { applyJsonPatch } from '../overriders/json-patch.ts';
import { additionsTo, removalOf, withoutDefaults } from './drift.ts';

const managed = (manager: string, fieldsV1: object, more: object = {}): ManagedFieldsEntry => ({
  manager,
  operation: 'Update',
  apiVersion: 'apps/v1',
  fieldsType: 'FieldsV1',
  fieldsV1: fieldsV1 as Record<string, unknown>,
  ...more,
});
const inPod = (pod: object) => ({ 'f:spec': { 'f:template': { 'f:spec': pod } } });
const inWeb = (container: object) => inPod({ 'f:containers': { 'k:{"name":"web"}': container } });
const ours = managed('tidegate-apps', inWeb({ '.': {}, 'f:name': {}, 'f:image': {} }), {
  operation: 'Apply',
});

const workload = (managedFields: ManagedFieldsEntry[], web: object = {}, pod: object = {}): KubeObject => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'web', resourceVersion: '7', annotations: { note: 'x' }, managedFields },
  spec: {
    replicas: 3,
    template: { spec: { containers: [{ name: 'web', image: 'web:1', ...web }], ...pod } },
  },
});
const env = ['A', 'B', 'C'].map((name) => ({ name, value: name }));
const found = (object: KubeObject) => additionsTo(object).map(({ field, manager }) => `${manager} ${field}`);

describe('additions of other clients', () => {
  it('names an entry of a list once, with its keys and its manager', () => {
    const theirs = managed(
      'kubectl-set',
      inWeb({ 'f:env': { '.': {}, 'k:{"name":"B"}': { '.': {}, 'f:name': {}, 'f:value': {} } } }),
    );
    expect(found(workload([ours, theirs], { env }))).toEqual([
      'kubectl-set spec.template.spec.containers[name="web"].env[name="B"]',
    ]);
  });

  it('does not contain fields that the application has too', () => {
    expect(found(workload([ours, managed('kubectl-edit', inWeb({ 'f:image': {} }))]))).toEqual([]);
  });

  it('does not contain fields that the object no longer has', () => {
    expect(found(workload([ours, managed('kubectl-edit', inPod({ 'f:hostNetwork': {} }))]))).toEqual([]);
  });

  it('does not contain metadata, the status, restarts, and fields of the control plane', () => {
    const restarted = { 'kubectl.kubernetes.io/restartedAt': 'now' };
    const object = workload(
      [
        ours,
        managed('kubectl-edit', { 'f:metadata': { 'f:annotations': { 'f:note': {} } } }),
        managed('kube-controller-manager', { 'f:spec': { 'f:replicas': {} } }, { subresource: 'scale' }),
        managed('kubectl-edit', { 'f:spec': { 'f:replicas': {} } }, { subresource: 'status' }),
        managed('kubectl-rollout', inPod({ 'f:notes': { 'f:kubectl.kubernetes.io/restartedAt': {} } })),
      ],
      {},
      { notes: restarted },
    );
    expect(found(object)).toEqual([]);
  });

  it('quotes names that are not words', () => {
    const theirs = managed('kubectl-label', inPod({ 'f:nodeSelector': { 'f:example.com/disk': {} } }));
    expect(found(workload([ours, theirs], {}, { nodeSelector: { 'example.com/disk': 'ssd' } }))).toEqual([
      'kubectl-label spec.template.spec.nodeSelector["example.com/disk"]',
    ]);
  });

  it('ignores field sets that are malformed', () => {
    const theirs = managed('broken', inPod({ 'f:containers': { 'k:{': { 'f:image': {} }, 'f:x': 1 } }));
    expect(found(workload([ours, theirs]))).toEqual([]);
  });
});

describe('the removal of additions', () => {
  const entry = (name: string) => ({ [`k:{"name":"${name}"}`]: { '.': {}, 'f:value': {} } });
  const theirs = managed('kubectl-set', inWeb({ 'f:env': { ...entry('A'), ...entry('C') } }));

  it('removes the right entries of a list, and fails if the object has changed', () => {
    const object = workload([ours, theirs], { env });
    const patch = removalOf(object, additionsTo(object));
    const result = applyJsonPatch(object, patch);
    expect(JSON.stringify(result)).toContain('"env":[{"name":"B","value":"B"}]');
    const scaled = { ...object, spec: { ...(object as { spec?: object }).spec, replicas: 4 } };
    expect(() => applyJsonPatch(scaled, patch)).toThrow();
    expect(applyJsonPatch({ ...object, status: { replicas: 4 } }, patch)).toEqual({
      ...result,
      status: { replicas: 4 },
    });
  });

  it('does not count fields that return with the same value', () => {
    const fields = inPod({ 'f:dnsPolicy': {}, 'f:hostNetwork': {} });
    const before = workload(
      [ours, managed('kubectl', fields)],
      {},
      { dnsPolicy: 'ClusterFirst', hostNetwork: true },
    );
    const after = workload([ours, managed('kubectl', fields)], {}, { dnsPolicy: 'ClusterFirst' });
    expect(withoutDefaults(additionsTo(before), before, after).map(({ field }) => field)).toEqual([
      'spec.template.spec.hostNetwork',
    ]);
  });
});
