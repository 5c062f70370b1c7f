import { type Deployment, type KubeObject, keyOf, NODES, type Service } from '@tidegate/kube';
import { INGRESS_NGINX_CONTROLLER_PREFIX, type L7Router } from '../../api/index.ts';
import type { IngressContext } from '../context.ts';
import {
  BUILT_IN,
  type Ensured,
  type Provisioner,
  type ProvisionerProfile,
  RefusedError,
  type Removed,
} from '../provisioners/index.ts';
import { addressesOf } from './addresses.ts';
import { identityOf, workloadName, workloadOf } from './identity.ts';
import { defaultImageOf, refusalOf } from './policy.ts';
import type { ProvisionedObjects } from './provisioned-objects.ts';
import { isReady, type RouterPods } from './router-pods.ts';
import { objectsFor } from './workload.ts';

/** Kinds that a change of the spec can make superfluous. */
const KINDS = ['ServiceAccount', 'ConfigMap', 'RoleBinding', 'Service', 'Deployment', 'PodDisruptionBudget'];

/** Kinds whose changes concern `ensure`. */
export const WORKLOAD_KINDS: readonly string[] = [...KINDS, 'Role', 'ClusterRole', 'ClusterRoleBinding'];

/** Routers that run ingress-nginx. No class selects it by its controller: only L7Routers do, by their driver. */
const INGRESS_NGINX: ProvisionerProfile = {
  ...BUILT_IN[0]!,
  controller: `${INGRESS_NGINX_CONTROLLER_PREFIX}*`,
  aliases: [],
  driver: 'ingress-nginx',
};

/** The provisioners that run routers as Deployments: one for each program. */
export const workloadProvisioners = (
  context: IngressContext,
  provisioned: ProvisionedObjects,
  pods: RouterPods,
): Provisioner[] =>
  [...BUILT_IN, INGRESS_NGINX].map((profile) => ({
    ...profile,
    ...workloadProvisioner(context, provisioned, pods),
  }));

/**
 * Creates the objects of a router, corrects drift, and deletes them. An agent in the pods programs the routes and reports the
 * generation in the status of the L7Router.
 */
function workloadProvisioner(
  { informers, routerImage, routerPolicy = {}, routerPorts }: IngressContext,
  provisioned: ProvisionedObjects,
  pods: RouterPods,
): Pick<Provisioner, 'ensure' | 'remove' | 'forget'> {
  const nodes = informers.for(NODES);

  async function ensure(router: L7Router, _: unknown, signal: AbortSignal): Promise<Ensured> {
    const refusal = refusalOf(router, routerImage, routerPolicy);
    // What was provisioned from an earlier spec keeps running.
    if (refusal !== undefined) throw new RefusedError(refusal);
    const image = defaultImageOf(router, routerImage, routerPolicy);
    const wanted = objectsFor(router, image, routerPorts);
    for (const object of wanted) await provisioned.apply(object, signal);
    // Objects of a previous spec. Those in another namespace serve until the new Deployment does: its status triggers the
    // next attempt.
    const isWanted = new Set(wanted.map((object) => `${object.kind} ${keyOf(object)}`));
    const { namespace, name } = identityOf(router);
    const serves = isServing(provisioned.get('Deployment', `${namespace}/${name}`));
    for (const kind of KINDS) {
      for (const object of provisioned.of(`${router.metadata.name}`, kind)) {
        if (isWanted.has(`${kind} ${keyOf(object)}`) || isSecretAccess(object, router)) continue;
        if (object.metadata.namespace !== namespace && (!serves || !isOwnedBy(object, router))) continue;
        await provisioned.remove(object, signal);
      }
    }
    return reached(router);
  }

  function reached(router: L7Router): Ensured {
    const name = `${router.metadata.name}`;
    const ready = pods.of(name).filter(isReady);
    const on = ready.flatMap(({ spec }) => nodes.cache.get(spec?.nodeName ?? '') ?? []);
    const service = provisioned.get<Service>(
      'Service',
      `${workloadOf(router).namespace}/${workloadName(name)}`,
    );
    return { addresses: addressesOf(service, on), ready: ready.length > 0 };
  }

  /** It is gone when the caches show that all objects are gone. */
  async function remove(router: L7Router, _: unknown, signal: AbortSignal): Promise<Removed> {
    const left = provisioned.all(`${router.metadata.name}`);
    for (const object of left) await provisioned.remove(object, signal);
    return { gone: left.length === 0 };
  }

  async function forget(router: string, signal: AbortSignal): Promise<void> {
    for (const object of provisioned.all(router)) await provisioned.remove(object, signal);
  }

  return { ensure, remove, forget };
}

/** Whether all pods of the current spec are ready. */
function isServing(deployment: Deployment | undefined): boolean {
  const { observedGeneration = 0, readyReplicas = 0, updatedReplicas = 0 } = deployment?.status ?? {};
  if (deployment === undefined || observedGeneration < (deployment.metadata.generation ?? 0)) return false;
  const replicas = deployment.spec?.replicas ?? 1;
  return readyReplicas >= replicas && updatedReplicas >= replicas;
}

const isOwnedBy = ({ metadata }: KubeObject, router: L7Router): boolean =>
  (metadata.ownerReferences ?? []).some(({ uid }) => uid === router.metadata.uid);

/** The secret access controller manages these objects. */
const isSecretAccess = ({ kind, metadata }: KubeObject, router: L7Router): boolean =>
  kind === 'RoleBinding' && metadata.name === workloadName(`${router.metadata.name}`);
