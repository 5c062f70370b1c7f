import { isDeepStrictEqual } from 'node:util';
import { Applier, Controller, isNotFound, NODES, type Node, type Service } from '@tidegate/kube';
import {
  INGRESS_FIELD_MANAGER,
  L7_ROUTERS,
  type L7Router,
  ROUTER_STATE_ANNOTATION,
} from '../../api/index.ts';
import type { ClassTable } from '../classes/index.ts';
import type { IngressContext } from '../context.ts';
import {
  isReady,
  type ProvisionedObjects,
  type RouterPods,
  workloadName,
  workloadOf,
} from '../provision/index.ts';

/**
 * Writes the address of a router to an annotation of the nodes that it runs on, in the format of Kuryr, for clients that
 * read the address there. A load balancer outside of the cluster is written to all nodes. Only for classes with the parameter `publishNodeAnnotation`.
 */
export function nodeAnnotationController(
  context: IngressContext,
  classes: ClassTable,
  provisioned: ProvisionedObjects,
  pods: RouterPods,
): Controller {
  const { client, informers } = context;
  const nodes = informers.for(NODES);
  const routers = informers.for(L7_ROUTERS);
  const applier = new Applier(client, INGRESS_FIELD_MANAGER);

  async function reconcile(name: string, signal: AbortSignal): Promise<void> {
    const node = nodes.cache.get(name);
    if (node === undefined) return;
    const wanted = stateFor(name);
    if (node.metadata.annotations?.[ROUTER_STATE_ANNOTATION] === wanted) return;
    const annotations: Record<string, string> =
      wanted === undefined ? {} : { [ROUTER_STATE_ANNOTATION]: wanted };
    const object = { apiVersion: 'v1', kind: 'Node', metadata: { name, annotations } };
    try {
      // Applying without the annotation removes it only if Tidegate owns it.
      await applier.apply(object, { resource: NODES, signal });
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
  }

  /** The annotation has room for one router. If several run on the node, the first by name is used. */
  function stateFor(node: string): string | undefined {
    const [router] = pods
      .on(node)
      .filter(isReady)
      .flatMap((pod) => pods.routersOf(pod).flatMap((name) => routers.cache.get(name) ?? []))
      .filter(isPublished)
      .sort((a, b) => (`${a.metadata.name}` < `${b.metadata.name}` ? -1 : 1));
    if (router !== undefined) return routerState(router, serviceOf(router));
    const [outside] = routers.cache
      .list()
      .filter((each) => each.status?.loadBalancer !== undefined && isPublished(each))
      .sort((a, b) => (`${a.metadata.name}` < `${b.metadata.name}` ? -1 : 1));
    return outside && routerState(outside, undefined);
  }

  const isPublished = ({ spec }: L7Router): boolean =>
    classes.familyOf(spec.ingressClassName)?.settings?.publishNodeAnnotation === true;
  const serviceOf = (router: L7Router): Service | undefined =>
    provisioned.get('Service', `${workloadOf(router).namespace}/${workloadName(`${router.metadata.name}`)}`);
  const nodesOf = (router: L7Router): string[] =>
    router.status?.loadBalancer !== undefined
      ? nodes.cache.list().map(({ metadata }) => `${metadata.name}`)
      : pods.of(router).flatMap(({ spec }) => spec?.nodeName ?? []);

  const controller = new Controller({ ...context, name: 'ingress-node-annotation', reconcile })
    .watch(nodes, undefined, (old, node) => annotationOf(old) !== annotationOf(node))
    .watch(
      routers,
      nodesOf,
      (old, router) =>
        !isDeepStrictEqual(old.status?.addresses, router.status?.addresses) ||
        !isDeepStrictEqual(old.status?.loadBalancer, router.status?.loadBalancer),
    );
  pods.all.watchedBy(controller, ({ spec }) => (spec?.nodeName === undefined ? [] : [spec.nodeName]));
  classes.onChange(() => {
    for (const router of routers.cache.list()) for (const node of nodesOf(router)) controller.enqueue(node);
  });
  return controller;
}

const annotationOf = ({ metadata }: Node): string | undefined =>
  metadata.annotations?.[ROUTER_STATE_ANNOTATION];

/** The JSON value of the annotation. Undefined while the router has no address. */
function routerState({ metadata, status }: L7Router, service: Service | undefined): string | undefined {
  const [address] = status?.addresses ?? [];
  const fip = address?.ip ?? address?.hostname;
  if (fip === undefined) return undefined;
  const outside = status?.loadBalancer;
  const balancer =
    outside === undefined
      ? {
          id: service?.metadata.uid ?? metadata.uid,
          ip: service?.spec?.clusterIP ?? fip,
          name: metadata.name,
        }
      : {
          id: outside.id,
          ip: outside.ip,
          name: outside.name,
          port_id: outside.portID,
          project_id: outside.projectID,
          subnet_id: outside.subnetID,
        };
  return JSON.stringify(
    versioned('L7RouterState', { fip, router_lb: versioned('LBaaSLoadBalancer', balancer) }),
  );
}

const versioned = (name: string, data: object): object => ({
  'versioned_object.data': data,
  'versioned_object.name': name,
  'versioned_object.namespace': 'kuryr_kubernetes',
  'versioned_object.version': '1.0',
});
