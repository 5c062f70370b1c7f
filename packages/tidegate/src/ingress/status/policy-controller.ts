import { isDeepStrictEqual } from 'node:util';
import {
  Applier,
  Controller,
  INGRESS_CLASSES,
  INGRESSES,
  isNotFound,
  type KubeObject,
  keyOf,
} from '@tidegate/kube';
import {
  type AttachedPolicy,
  CLUSTER_ROUTE_POLICIES,
  INGRESS_FIELD_MANAGER,
  L7_ROUTERS,
  ROUTE_POLICIES,
} from '../../api/index.ts';
import {
  type AttachedKind,
  classScope,
  ingressScope,
  namespaceScope,
  PolicyIndex,
} from '../attached-policies/index.ts';
import { isOwnProgram } from '../classes/index.ts';
import type { IngressContext } from '../context.ts';
import { policyStatus } from './policy-status.ts';

const RESOURCES = { RoutePolicy: ROUTE_POLICIES, ClusterRoutePolicy: CLUSTER_ROUTE_POLICIES } as const;

/**
 * Writes the status of RoutePolicies and ClusterRoutePolicies: what has become of each at its targets, and whether routers have
 * applied it. The key is the kind and the key of the policy.
 */
export function policyStatusController(context: IngressContext): Controller {
  const { client, informers, clock } = context;
  const policies = {
    RoutePolicy: informers.for(ROUTE_POLICIES),
    ClusterRoutePolicy: informers.for(CLUSTER_ROUTE_POLICIES),
  };
  const ingresses = informers.for(INGRESSES);
  const classes = informers.for(INGRESS_CLASSES);
  const routers = informers.for(L7_ROUTERS);
  const index = new PolicyIndex();
  const applier = new Applier(client, INGRESS_FIELD_MANAGER);

  async function reconcile(key: string, signal: AbortSignal): Promise<void> {
    const [kind, name = ''] = key.split(' ') as [AttachedKind, string];
    const object = policies[kind].cache.get(name);
    const read = index.get(kind, name);
    if (object === undefined || read === undefined) return;
    const status = policyStatus(object, read, {
      index,
      ingress: (each) => ingresses.cache.get(each),
      class: (each) => classes.cache.get(each),
      routers: routers.cache.list().filter(({ spec }) => isOwnProgram(spec.driver)),
      now: clock.now(),
    });
    if (isDeepStrictEqual(status, object.status)) return;
    const { apiVersion, metadata } = object;
    const own = { name: `${metadata.name}`, ...(metadata.namespace && { namespace: metadata.namespace }) };
    try {
      await applier.applyStatus(
        { apiVersion, kind, metadata: own, status },
        { resource: RESOURCES[kind], signal },
      );
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
  }

  const controller = new Controller({ ...context, name: 'route-policy-status', reconcile, concurrency: 2 });
  /** The other policies of a target may win or lose against a changed one. */
  const enqueueAt = (scopes: Iterable<string>): void => {
    for (const scope of scopes) for (const { policy } of index.at(scope)) controller.enqueue(policy.id);
  };
  const enqueueAll = (): void => {
    for (const kind of ['RoutePolicy', 'ClusterRoutePolicy'] as const)
      for (const policy of policies[kind].cache.list()) controller.enqueue(`${kind} ${keyOf(policy)}`);
  };
  for (const kind of ['RoutePolicy', 'ClusterRoutePolicy'] as const) {
    const put = (policy: AttachedPolicy): void => {
      enqueueAt(index.put(kind, policy));
      controller.enqueue(`${kind} ${keyOf(policy)}`);
    };
    policies[kind].addHandler({
      onAdd: put,
      onUpdate: (_, policy) => put(policy),
      onDelete: (policy) => enqueueAt(index.remove(kind, keyOf(policy))),
    });
  }
  const ingressChanged = (ingress: KubeObject): void =>
    enqueueAt([namespaceScope(`${ingress.metadata.namespace}`), ingressScope(keyOf(ingress))]);
  ingresses.addHandler({ onAdd: ingressChanged, onDelete: ingressChanged });
  const classChanged = ({ metadata }: KubeObject): void => enqueueAt([classScope(`${metadata.name}`)]);
  classes.addHandler({ onAdd: classChanged, onDelete: classChanged });
  routers.addHandler({
    onUpdate: (old, router) => {
      const digests = (each: typeof router) => each.status?.agents?.map(({ policies: own }) => own);
      if (!isDeepStrictEqual(digests(old), digests(router))) enqueueAll();
    },
    onAdd: enqueueAll,
  });
  return controller;
}
