import {
  type Clock,
  INGRESS_CLASSES,
  INGRESSES,
  type Informers,
  type Ingress,
  type KubeClient,
  keyOf,
  SERVICES,
} from '@tidegate/kube';
import {
  CLUSTER_ROUTE_POLICIES,
  HOST_CLAIMS,
  INGRESS_CLASS_PARAMETERS,
  INGRESS_CLASS_POLICIES,
  ROUTE_POLICIES,
  ROUTER_PROVISIONERS,
} from '../../api/index.ts';
import { ClassTable } from '../../ingress/classes/index.ts';
import { classNameOf, readIngress } from '../../ingress/compile/index.ts';
import { TlsSecrets } from '../../ingress/index.ts';
import { ClaimIndex, ownershipOf } from '../../ingress/ownership/index.ts';
import { type ProvisionerProfile, ProvisionerRegistry } from '../../ingress/provisioners/index.ts';
import type { IngressSources } from './ingress.ts';

const HOST_INDEX = 'admission/host';
const NAMESPACE_INDEX = 'admission/namespace';
const hostsOf = (ingress: Ingress): string[] => {
  const className = classNameOf(ingress);
  if (className === undefined) return [];
  return [...readIngress(ingress).claims.keys()].map((host) => keyOfHost(className, host));
};
const keyOfHost = (className: string, host: string): string => `${className}\n${host}`;

/** Reads from informer caches. `synced` resolves when they are complete. */
export function ingressSources(context: {
  client: KubeClient;
  informers: Informers;
  clock: Clock;
  /** Provisioners besides the built-in ones. */
  provisioners?: readonly ProvisionerProfile[];
}): IngressSources & { synced: Promise<unknown> } {
  const { informers } = context;
  const classes = informers.for(INGRESS_CLASSES);
  const ingresses = informers.for(INGRESSES);
  const services = informers.for(SERVICES);
  const provisioners = new ProvisionerRegistry(context.provisioners, informers.for(ROUTER_PROVISIONERS));
  const secrets = new TlsSecrets({ ...context, provisioners });
  const parameters = informers.for(INGRESS_CLASS_PARAMETERS);
  const policies = informers.for(INGRESS_CLASS_POLICIES);
  const recorded = informers.for(HOST_CLAIMS);
  const routePolicies = informers.for(ROUTE_POLICIES);
  const clusterRoutePolicies = informers.for(CLUSTER_ROUTE_POLICIES);
  routePolicies.addIndex(NAMESPACE_INDEX, ({ metadata }) => [`${metadata.namespace}`]);
  const claims = new ClaimIndex();
  recorded.addHandler({
    onAdd: (claim) => claims.put(ownershipOf(claim)),
    onUpdate: (_, claim) => claims.put(ownershipOf(claim)),
    onDelete: (claim) => claims.remove(keyOf(claim)),
  });
  // Problems of classes are reported by the leader.
  const families = new ClassTable({
    client: context.client,
    informers,
    recorder: { warning: () => {} },
    provisioners,
  });
  ingresses.addIndex(HOST_INDEX, hostsOf);
  return {
    classes: classes.cache,
    provisioners,
    parametersOf: ({ kind, namespace, name }) =>
      kind === 'IngressClassParameters' ? parameters.cache.get(`${namespace}/${name}`) : undefined,
    claims,
    policyOf: (className) => policies.cache.get(className)?.spec,
    routePoliciesOf: (namespace) => routePolicies.cache.byIndex(NAMESPACE_INDEX, namespace),
    clusterRoutePolicies: () => clusterRoutePolicies.cache.list(),
    classesWith: (className) => families.familyOf(className)?.classNames ?? [className],
    ingressesNaming: (className, host) => ingresses.cache.byIndex(HOST_INDEX, keyOfHost(className, host)),
    service: (key) => services.cache.get(key),
    secret: (key) => secrets.get(key),
    knowsSecretsOf: (namespace) => secrets.knows(namespace),
    synced: Promise.all([
      ...[classes, ingresses, services, secrets, policies, recorded, routePolicies, clusterRoutePolicies].map(
        ({ synced }) => synced,
      ),
      families.follow(),
    ]),
  };
}
