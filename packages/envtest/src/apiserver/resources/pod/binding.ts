/** The subresource `pods/binding`, with which the scheduler assigns a pod to a node. The assignment is final. */
import type { KubeObject } from '@tidegate/kube';
import { conflict, fieldError, invalid } from '@tidegate/serving';
import type { SubresourceHandler } from '../types.ts';
import type { Pod } from './types.ts';

interface Binding extends KubeObject {
  target?: { kind?: string; name?: string };
}

/** Sets the node of a pod. The scheduler uses it instead of an update, because it must not change anything else. */
export const bindPod: SubresourceHandler = async ({ parent, body, context }) => {
  const pod = structuredClone(parent) as Pod;
  const { target = {}, metadata } = body as Binding;
  const name = pod.metadata.name ?? '';
  if ((target.kind ?? '') !== '' && target.kind !== 'Node') {
    throw invalid({ group: '', kind: 'Binding' }, name, [
      fieldError.notSupported('target.kind', target.kind, ['Node', '<empty>']),
    ]);
  }
  if ((target.name ?? '') === '') {
    throw invalid({ group: '', kind: 'Binding' }, name, [fieldError.required('target.name')]);
  }
  const why = refusal(pod, metadata.uid);
  if (why !== undefined) throw conflict({ group: '', resource: 'pods/binding' }, name, why);
  pod.spec.nodeName = target.name;
  pod.status.conditions = [
    ...(pod.status.conditions ?? []).filter((condition) => condition.type !== 'PodScheduled'),
    {
      type: 'PodScheduled',
      status: 'True',
      lastProbeTime: null,
      lastTransitionTime: context.now.toISOString().replace(/\.\d+Z$/, 'Z'),
    },
  ];
  const respond: KubeObject = {
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Success',
    code: 201,
  };
  return { replace: pod, respond, code: 201 };
};

function refusal({ metadata, spec }: Pod, uid: string | undefined): string | undefined {
  if (uid && uid !== metadata.uid) {
    return `Precondition failed: UID in precondition: ${uid}, UID in object meta: ${metadata.uid}`;
  }
  if (metadata.deletionTimestamp !== undefined) {
    return `pod ${metadata.name} is being deleted, cannot be assigned to a host`;
  }
  if (spec.nodeName) {
    return `pod ${metadata.name} is already assigned to node ${JSON.stringify(spec.nodeName)}`;
  }
  if ((spec.schedulingGates ?? []).length > 0) {
    return `pod ${metadata.name} has non-empty .spec.schedulingGates`;
  }
  return undefined;
}
