import { createHash } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import type { Deployment, ReplicaSet } from '@tidegate/kube';
import type { PodTemplateSpec } from 'kubernetes-types/core/v1.d.ts';
import { controllerReference } from '../../pods/index.ts';

export const POD_TEMPLATE_HASH = 'pod-template-hash';

const LONGEST_NAME = 253;
const HASH_LENGTH = 10;
/** No vowels, and nothing that looks like one: hashes must not spell words. */
const HASH_ALPHABET = 'bcdfghjklmnpqrstvwxz2456789';

/** Whether the pods of the ReplicaSet are as the Deployment wants them. */
export const hasTemplateOf = (replicaSet: ReplicaSet, deployment: Deployment): boolean =>
  isDeepStrictEqual(canonical(replicaSet.spec?.template), canonical(deployment.spec?.template));

/** The ReplicaSet of the Deployment's present template; its size and annotations are decided elsewhere. */
export function newReplicaSet(deployment: Deployment): ReplicaSet {
  const { template, selector, minReadySeconds } = deployment.spec!;
  const { name = '', namespace } = deployment.metadata;
  const hash = templateHash(template, deployment.status?.collisionCount ?? 0);
  const labels = { ...template.metadata?.labels, [POD_TEMPLATE_HASH]: hash };
  return {
    apiVersion: 'apps/v1',
    kind: 'ReplicaSet',
    metadata: {
      name: `${name.slice(0, LONGEST_NAME - 1 - hash.length)}-${hash}`,
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

/** `collisions` leads to another name when the first one is taken by somebody else. */
export function templateHash(template: PodTemplateSpec, collisions: number): string {
  const digest = createHash('sha256')
    .update(JSON.stringify([canonical(template), collisions]))
    .digest();
  return Array.from(
    digest.subarray(0, HASH_LENGTH),
    (byte) => HASH_ALPHABET[byte % HASH_ALPHABET.length],
  ).join('');
}

/** Equal for templates that mean the same: without the hash, in one order, and with nothing where nothing is said. */
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
