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

const namespaceOf = ({ workload, driver }: L7Router['spec']): string =>
  workload?.namespace ?? (isOwnProgram(driver) ? ROUTER_NAMESPACE : INGRESS_NGINX_NAMESPACE);

/** Whether the objects of both routers are in the same namespace. */
export const shareNamespace = (a: L7Router, b: L7Router): boolean =>
  namespaceOf(a.spec) === namespaceOf(b.spec);

/** Settings of the workload, with defaults. */
export const workloadOf = ({ spec }: L7Router): RouterWorkload & { namespace: string; replicas: number } => ({
  ...spec.workload,
  namespace: namespaceOf(spec),
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

/**
 * Identity of the objects that run the pods: those of the router itself, or of all routers that share the pods. In the
 * latter case the garbage collector deletes them after the last router.
 */
export function podsIdentityOf(router: L7Router, members: readonly L7Router[]): Identity {
  if (sharedPodsOf(router) === undefined) return identityOf(router);
  const name = podsNameOf(router);
  const ownerReferences = members.map(({ apiVersion, kind, metadata }) => ({
    apiVersion,
    kind,
    name: `${metadata.name}`,
    uid: `${metadata.uid}`,
  }));
  const metadata = { name, labels: labelsOf(podsKeyOf(router)), ownerReferences };
  return { name, namespace: workloadOf(router).namespace, metadata };
}

/** The name of the pods that the router shares with others. Undefined if it has pods of its own. */
export const sharedPodsOf = ({ spec }: L7Router): string | undefined =>
  isOwnProgram(spec.driver) ? spec.workload?.sharedPods : undefined;

/** The value of ROUTER_LABEL of the pods. No router can have a name with an underscore. */
export function podsKeyOf(router: L7Router): string {
  const shared = sharedPodsOf(router);
  return shared === undefined ? `${router.metadata.name}` : sharedPodsKey(shared);
}

const SHARED_PREFIX = 'pods_';

export const sharedPodsKey = (sharedPods: string): string => `${SHARED_PREFIX}${sharedPods}`;

/** Whether a value of ROUTER_LABEL is that of pods that routers share. */
export const isSharedPodsKey = (key: string): boolean => key.startsWith(SHARED_PREFIX);

/** Whether an object belongs to pods that routers share, and not to one of these routers. */
export const isOfSharedPods = ({ metadata }: KubeObject): boolean =>
  isSharedPodsKey(metadata.labels?.[ROUTER_LABEL] ?? '');

/** Name of the Deployment of the pods, and of their ServiceAccount. */
export const podsNameOf = (router: L7Router): string => workloadName(podsKeyOf(router));

const labelsOf = (key: string): Record<string, string> => ({
  'app.kubernetes.io/name': 'tidegate-router',
  [ROUTER_LABEL]: key,
});

/** The router owns its objects, so the garbage collector deletes them even if the manager no longer runs. */
export const metadataFor = (
  { apiVersion, kind, metadata }: L7Router,
  name: string,
): KubeObject['metadata'] => ({
  name,
  labels: labelsOf(`${metadata.name}`),
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
  [ROUTER_LABEL]: podsKeyOf(router),
});
