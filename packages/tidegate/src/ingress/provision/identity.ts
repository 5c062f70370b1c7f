/** Names, labels and owner references of the objects of an L7Router. */
import { createHash } from 'node:crypto';
import type { KubeObject } from '@tidegate/kube';
import {
  INGRESS_NGINX_NAMESPACE,
  type L7Router,
  ROUTER_LABEL,
  ROUTER_NAMESPACE,
  type RouterWorkload,
} from '../../api/index.ts';
import { isOwnProgram } from '../classes/drivers.ts';

/** The name of a Service is a DNS label. */
const MAX_NAME_LENGTH = 63;

/** Settings of the workload, with defaults. */
export const workloadOf = ({ spec }: L7Router): RouterWorkload & { namespace: string; replicas: number } => ({
  ...spec.workload,
  namespace:
    spec.workload?.namespace ?? (isOwnProgram(spec.driver) ? ROUTER_NAMESPACE : INGRESS_NGINX_NAMESPACE),
  replicas: spec.workload?.replicas ?? 1,
});

/** Name of all objects of the router. A long name is cut, with a hash of the name of the router to keep it unique. */
export function workloadName(router: string): string {
  const name = `tidegate-router-${router}`;
  if (name.length <= MAX_NAME_LENGTH && /^[a-z0-9-]+$/.test(name)) return name;
  const digest = createHash('sha256').update(router).digest('hex').slice(0, 8);
  const plain = name.replace(/[^a-z0-9]+/g, '-').slice(0, MAX_NAME_LENGTH - digest.length - 1);
  return `${plain.replace(/-+$/, '')}-${digest}`;
}

/** Name, namespace and metadata of the objects of one router. */
export interface Identity {
  readonly name: string;
  readonly namespace: string;
  /** Metadata without a namespace, for cluster-scoped objects. */
  readonly metadata: KubeObject['metadata'];
}

export function identityOf(router: L7Router): Identity {
  const name = workloadName(`${router.metadata.name}`);
  return { name, namespace: workloadOf(router).namespace, metadata: metadataFor(router, name) };
}

/** The router owns its objects, so the garbage collector deletes them even if the manager no longer runs. */
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

/** Selects the pods of the router. */
export const selectorOf = (router: L7Router): { [ROUTER_LABEL]: string } => ({
  [ROUTER_LABEL]: `${router.metadata.name}`,
});
