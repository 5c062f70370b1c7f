/** The priorities of groups and versions, which order them in discovery. Those of the built-in groups are fixed. */
import { ownField } from '@tidegate/kube';
import { byVersionPriority } from '../served/registry.ts';

/** By group; the same values as kube-apiserver has. */
const GROUPS: Readonly<Record<string, number>> = {
  '': 18_000,
  'apiregistration.k8s.io': 18_000,
  extensions: 17_900,
  apps: 17_800,
  'events.k8s.io': 17_750,
  'authentication.k8s.io': 17_700,
  'authorization.k8s.io': 17_600,
  autoscaling: 17_500,
  batch: 17_400,
  'certificates.k8s.io': 17_300,
  'networking.k8s.io': 17_200,
  policy: 17_100,
  'rbac.authorization.k8s.io': 17_000,
  'storage.k8s.io': 16_800,
  'admissionregistration.k8s.io': 16_700,
  'apiextensions.k8s.io': 16_700,
  'scheduling.k8s.io': 16_600,
  'coordination.k8s.io': 16_500,
  'node.k8s.io': 16_300,
  'discovery.k8s.io': 16_200,
  'flowcontrol.apiserver.k8s.io': 16_100,
  'metrics.k8s.io': 100,
};

/** Of the groups of CustomResourceDefinitions. */
const CUSTOM_GROUP = 1000;
const CUSTOM_VERSION = 100;

export interface Priority {
  groupPriorityMinimum: number;
  versionPriority: number;
}

/** `versions` are all served versions of the group. The first version has the highest priority. */
export function priorityOf(group: string, version: string, versions: readonly string[]): Priority {
  const known = ownField(GROUPS, group);
  const rank = [...versions].sort(byVersionPriority).indexOf(version);
  if (known === undefined) {
    return { groupPriorityMinimum: CUSTOM_GROUP, versionPriority: Math.max(1, CUSTOM_VERSION - rank) };
  }
  if (group === '') return { groupPriorityMinimum: known, versionPriority: 1 };
  const last = versions.length - 1 - rank;
  return { groupPriorityMinimum: known, versionPriority: 15 + 15 * last };
}
