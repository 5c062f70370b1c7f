import { createHash } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import type { Deployment, ReplicaSet } from '@tidegate/kube';
import type { PodTemplateSpec } from 'kubernetes-types/core/v1.d.ts';
import { controllerReference } from '../../pods/index.ts';

/** The label that distinguishes the pods of the ReplicaSets of one Deployment. */
export const POD_TEMPLATE_HASH = 'pod-template-hash';

const MAX_NAME = 253;
const HASH_LENGTH = 10;
/** No vowels and no characters that look like vowels, so that hashes do not spell words. */
const HASH_ALPHABET = 'bcdfghjklmnpqrstvwxz2456789';

/** Whether the ReplicaSet has the current template of the Deployment. */
export const hasTemplateOf = (replicaSet: ReplicaSet, deployment: Deployment): boolean =>
  isDeepStrictEqual(canonical(replicaSet.spec?.template), canonical(deployment.spec?.template));

/** The ReplicaSet for the Deployment's current template. Its size and annotations are set by `plan`. */
export function newReplicaSet(deployment: Deployment): ReplicaSet {
  const { template, selector, minReadySeconds } = deployment.spec!;
  const { name = '', namespace } = deployment.metadata;
  const hash = templateHash(template, deployment.status?.collisionCount ?? 0);
  const labels = { ...template.metadata?.labels, [POD_TEMPLATE_HASH]: hash };
  return {
    apiVersion: 'apps/v1',
    kind: 'ReplicaSet',
    metadata: {
      name: `${name.slice(0, MAX_NAME - 1 - hash.length)}-${hash}`,
      namespace,
      labels,
      ownerReferences: [controllerReference(deployment)],
    },
    spec: {
      minReadySeconds,
      selector: { ...selector, matchLabels: { ...selector.matchLabels, [POD_TEMPLATE_HASH]: hash } },
      template: { ...template, metadata: { ...template.metadata, labels } },
    },
  };
}

/** `collisions` changes the hash when the first name is already in use by another object. */
export function templateHash(template: PodTemplateSpec, collisions: number): string {
  const digest = createHash('sha256')
    .update(JSON.stringify([canonical(template), collisions]))
    .digest();
  return Array.from(
    digest.subarray(0, HASH_LENGTH),
    (byte) => HASH_ALPHABET[byte % HASH_ALPHABET.length],
  ).join('');
}

/** Equal for equivalent templates: without the hash label, with sorted keys, and without empty fields. */
function canonical(template: PodTemplateSpec | undefined): unknown {
  const { [POD_TEMPLATE_HASH]: _, ...labels } = template?.metadata?.labels ?? {};
  return sorted({ ...template, metadata: { ...template?.metadata, labels } });
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value)
    .filter(([, field]) => field !== undefined && field !== null && !isEmptyList(field))
    .map(([name, field]) => [name, sorted(field)] as const);
  return Object.fromEntries(entries.toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

const isEmptyList = (value: unknown): boolean => Array.isArray(value) && value.length === 0;
