/** What all that is made for an L7Router has in common. */
import { createHash } from 'node:crypto';
import type { KubeObject } from '@tidegate/kube';
import { type L7Router, ROUTER_LABEL, type RouterWorkload, SYSTEM_NAMESPACE } from '../../api/index.ts';

/** A service name is a DNS label. */
const LONGEST_NAME = 63;

export const workloadOf = ({ spec }: L7Router): RouterWorkload & { namespace: string; replicas: number } => ({
  ...spec.workload,
  namespace: spec.workload?.namespace ?? SYSTEM_NAMESPACE,
  replicas: spec.workload?.replicas ?? 1,
});

/** Of everything that is made for the router. */
export function workloadName(router: string): string {
  const name = `tidegate-router-${router}`;
  if (name.length <= LONGEST_NAME && /^[a-z0-9-]+$/.test(name)) return name;
  const digest = createHash('sha256').update(router).digest('hex').slice(0, 8);
  const plain = name.replace(/[^a-z0-9]+/g, '-').slice(0, LONGEST_NAME - digest.length - 1);
  return `${plain.replace(/-+$/, '')}-${digest}`;
}

/** What its objects are called, and where they are. */
export interface Identity {
  readonly name: string;
  readonly namespace: string;
  /** Of what has no namespace. */
  readonly metadata: KubeObject['metadata'];
}

export function identityOf(router: L7Router): Identity {
  const name = workloadName(`${router.metadata.name}`);
  return { name, namespace: workloadOf(router).namespace, metadata: metadataFor(router, name) };
}

/** The router is the owner: whatever becomes of us, they go with it. */
export const metadataFor = (
  { apiVersion, kind, metadata }: L7Router,
  name: string,
): KubeObject['metadata'] => ({
  name,
  labels: { 'app.kubernetes.io/name': 'tidegate-router', [ROUTER_LABEL]: `${metadata.name}` },
  ownerReferences: [
    {
      apiVersion,
      kind,
      name: `${metadata.name}`,
      uid: `${metadata.uid}`,
      controller: true,
      blockOwnerDeletion: true,
    },
  ],
});

export const selectorOf = (router: L7Router): { [ROUTER_LABEL]: string } => ({
  [ROUTER_LABEL]: `${router.metadata.name}`,
});
