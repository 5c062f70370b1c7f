import {
  type EndpointSlice,
  type Ingress,
  type IngressClass,
  keyOf,
  type Node,
  type Secret,
  type Service,
} from '@tidegate/kube';
import type { AttachedPolicy, HostClaim, L7Router } from '../../api/index.ts';
import { Compiler } from '../compile/index.ts';
import type { HostName } from '../model.ts';
import {
  type FailedHost,
  notSupported,
  type Provisioner,
  type RouterSnapshot,
  withClosedHosts,
} from '../provisioners/index.ts';
import { nodePortEndpoints } from './node-ports.ts';
import { RouterRoutes } from './router-routes.ts';

/** The objects that routes come from. */
export interface SnapshotObjects {
  readonly ingresses: readonly Ingress[];
  readonly classes: readonly IngressClass[];
  readonly services: readonly Service[];
  readonly slices: readonly EndpointSlice[];
  readonly secrets: readonly Secret[];
  readonly claims: readonly HostClaim[];
  readonly nodes: readonly Node[];
  readonly routePolicies: readonly AttachedPolicy[];
  readonly clusterRoutePolicies: readonly AttachedPolicy[];
}

/** The snapshot that the manager would give to the provisioner now, and the hosts that it would refuse. */
export function oneSnapshot(
  router: L7Router,
  objects: SnapshotObjects,
  provisioner: Provisioner,
  now: () => number,
): { snapshot: RouterSnapshot; refused: ReadonlyMap<HostName, FailedHost> } {
  const { ingressClassName, sharedWith = [], hosts } = router.spec;
  const compiler = new Compiler({ classNames: [ingressClassName, ...sharedWith], claimsRequired: true, now });
  const services = new Map(objects.services.map((each) => [keyOf(each), each]));
  const replace =
    provisioner.endpointsOf?.(router) === 'nodePorts'
      ? nodePortEndpoints(services, { list: () => [...objects.nodes] })
      : undefined;
  const routes = new RouterRoutes(compiler, replace);
  routes.setHosts(hosts);
  for (const each of objects.clusterRoutePolicies) compiler.put('ClusterRoutePolicy', each);
  for (const each of objects.routePolicies) compiler.put('RoutePolicy', each);
  for (const each of objects.classes) compiler.put('IngressClass', each);
  for (const each of objects.claims) compiler.put('HostClaim', each);
  for (const each of objects.services) compiler.put('Service', each);
  for (const each of objects.slices) compiler.put('EndpointSlice', each);
  for (const each of objects.secrets) compiler.put('Secret', each);
  for (const each of objects.ingresses) compiler.put('Ingress', each);
  const whole = routes.take(router.metadata.generation ?? 0);
  if (whole === undefined) throw new Error('the first snapshot is never empty');
  const refused = notSupported(whole, provisioner.capabilities, provisioner.controller);
  return { snapshot: withClosedHosts(whole, refused), refused };
}
