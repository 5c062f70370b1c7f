/** Builders for the objects in tests of pools. */

import type { Node, Pod } from '@tidegate/kube';
import type { NodeGroup, NodePool, Taint } from '../../api/index.ts';

const since = (day: number): string => `2026-01-0${day}T00:00:00Z`;

export const node = (
  name: string,
  labels: Record<string, string> = {},
  more: {
    annotations?: Record<string, string>;
    taints?: Taint[];
    ready?: 'True' | 'False' | 'Unknown';
    /** Of the condition Ready. */
    lastTransitionTime?: string | undefined;
  } = {},
): Node => ({
  apiVersion: 'v1',
  kind: 'Node',
  metadata: { name, labels, ...(more.annotations && { annotations: more.annotations }) },
  ...(more.taints && { spec: { taints: more.taints } }),
  ...(more.ready && { status: { conditions: [readyCondition(more.ready, more.lastTransitionTime)] } }),
});

const readyCondition = (status: string, lastTransitionTime?: string) => ({
  type: 'Ready',
  status,
  ...(lastTransitionTime !== undefined && { lastTransitionTime }),
});

export const group = (name: string, spec: NodeGroup['spec'], day = 1, deleting = false): NodeGroup => ({
  apiVersion: 'apps.kubeedge.io/v1alpha1',
  kind: 'NodeGroup',
  metadata: { name, creationTimestamp: since(day), ...(deleting && { deletionTimestamp: since(9) }) },
  spec,
});

export const pool = (name: string, spec: NodePool['spec'] = {}, day = 1, deleting = false): NodePool => ({
  apiVersion: 'apps.openyurt.io/v1beta2',
  kind: 'NodePool',
  metadata: { name, creationTimestamp: since(day), ...(deleting && { deletionTimestamp: since(9) }) },
  spec,
});

export const pod = (
  name: string,
  spec: Partial<NonNullable<Pod['spec']>>,
  metadata: Pod['metadata'] = {},
): Pod => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name, namespace: 'default', uid: `uid-${name}`, ...metadata },
  spec: { containers: [{ name: 'c', image: 'i' }], ...spec },
});
