/**
 * Allocates the cluster IP and the node ports of a service and sets the fields that depend on them. This happens before
 * validation, as in kube-apiserver, so an invalid request for an address is the only error that is reported.
 */
import { type ApiError, type FieldError, fieldError, internalError, invalid } from '@tidegate/serving';
import type { RequestContext } from '../types.ts';
import { semanticallyEqual } from '../validation/equal.ts';
import { familyOf } from '../validation/ip.ts';
import { type Claimant, ownerOf, type ServiceAllocator } from './allocator.ts';
import { validateClusterIPs } from './cluster-ips.ts';
import {
  HEADLESS,
  isExternallyAccessible,
  needsHealthCheck,
  nodePortsOf,
  type Service,
  type ServiceSpec,
  usesNodePorts,
} from './types.ts';

interface Allocation {
  service: Service;
  old: Service | undefined;
  pool: ServiceAllocator;
  claimant: Claimant;
}

const claimantOf = (service: Service, { now, dryRun }: RequestContext): Claimant => ({
  owner: ownerOf(service),
  now,
  dryRun,
});

export function allocateForCreate(service: Service, pool: ServiceAllocator, context: RequestContext): void {
  const { spec } = service;
  if (spec.clusterIP && (spec.clusterIPs ?? []).length === 0) spec.clusterIPs = [spec.clusterIP];
  allocate({ service, old: undefined, pool, claimant: claimantOf(service, context) });
}

export function allocateForUpdate(
  service: Service,
  old: Service,
  pool: ServiceAllocator,
  context: RequestContext,
): void {
  keepAllocated(service.spec, old.spec);
  dropWhatNoLongerApplies(service, old);
  allocate({ service, old, pool, claimant: claimantOf(service, context) });
}

function allocate(allocation: Allocation): void {
  initFamilies(allocation);
  allocateClusterIP(allocation);
  allocateNodePorts(allocation);
}

const refuse = (service: Service, ...errors: FieldError[]): ApiError =>
  invalid({ group: '', kind: 'Service' }, service.metadata.name ?? '', errors);

/** An allocated value that a client omits is kept. */
function keepAllocated(spec: ServiceSpec, old: ServiceSpec): void {
  if (spec.type !== 'ExternalName' && old.type !== 'ExternalName') {
    spec.clusterIP ||= old.clusterIP;
    if ((spec.clusterIPs ?? []).length === 0) spec.clusterIPs = old.clusterIPs;
    // An old client sends only the singular field.
    else if (spec.clusterIP !== old.clusterIP && semanticallyEqual(spec.clusterIPs, old.clusterIPs)) {
      spec.clusterIPs = [spec.clusterIP ?? ''];
    }
  }
  if (usesNodePorts(spec) && usesNodePorts(old)) keepNodePorts(spec, old);
  if (needsHealthCheck(spec) && needsHealthCheck(old)) spec.healthCheckNodePort ||= old.healthCheckNodePort;
}

function keepNodePorts(spec: ServiceSpec, old: ServiceSpec): void {
  const requested = new Set(nodePortsOf(spec));
  const byName = new Map((old.ports ?? []).map((port) => [port.name ?? '', port.nodePort ?? 0]));
  for (const port of spec.ports ?? []) {
    const before = byName.get(port.name ?? '') ?? 0;
    if (!port.nodePort && before !== 0 && !requested.has(before)) port.nodePort = before;
  }
}

/** When the type changes, values that only the old type had are removed, unless the client changed them. */
function dropWhatNoLongerApplies(service: Service, old: Service): void {
  const { spec } = service;
  const before = old.spec;
  const drop = (...fields: (keyof ServiceSpec)[]): void => {
    for (const field of fields) if (semanticallyEqual(spec[field], before[field])) delete spec[field];
  };
  if (before.type !== 'ExternalName' && spec.type === 'ExternalName') {
    drop('clusterIP', 'clusterIPs', 'ipFamilies', 'ipFamilyPolicy', 'internalTrafficPolicy');
  }
  if (usesNodePorts(before) && !usesNodePorts(spec)) {
    const same = semanticallyEqual(nodePortsOf(spec), nodePortsOf(before));
    if (same) for (const port of spec.ports ?? []) delete port.nodePort;
  }
  if (needsHealthCheck(before) && !needsHealthCheck(spec)) drop('healthCheckNodePort');
  if (before.type === 'LoadBalancer' && spec.type !== 'LoadBalancer') {
    drop('allocateLoadBalancerNodePorts', 'loadBalancerClass');
  }
  if (isExternallyAccessible(before) && !isExternallyAccessible(spec)) drop('externalTrafficPolicy');
  if (spec.type !== 'LoadBalancer') service.status.loadBalancer = {};
}

function initFamilies({ service, old }: Allocation): void {
  const { spec } = service;
  if (spec.type === 'ExternalName') return;
  const headlessWithoutSelector =
    spec.clusterIP === HEADLESS && Object.keys(spec.selector ?? {}).length === 0;
  spec.ipFamilyPolicy ??=
    old?.spec.ipFamilyPolicy ?? (headlessWithoutSelector ? 'RequireDualStack' : 'SingleStack');
  const errors = validateClusterIPs(spec);
  if (errors.length > 0) throw refuse(service, ...errors);
  checkFamilyPolicy(service);
  const requested = (spec.clusterIPs ?? []).filter((ip) => ip !== HEADLESS).map(familyOf);
  const families = [...(spec.ipFamilies ?? [])];
  families.push(...requested.slice(families.length));
  if (families.length === 0) families.push('IPv4');
  if (headlessWithoutSelector) {
    const other = families[0] === 'IPv4' ? 'IPv6' : 'IPv4';
    if (families.length < 2 && spec.ipFamilyPolicy !== 'SingleStack') families.push(other);
  } else checkConfigured(service, families);
  spec.ipFamilies = families;
}

function checkFamilyPolicy(service: Service): void {
  const { ipFamilyPolicy, clusterIPs = [], ipFamilies = [] } = service.spec;
  if (ipFamilyPolicy !== 'SingleStack') return;
  const message = (what: string): FieldError =>
    fieldError.invalid(
      'spec.ipFamilyPolicy',
      ipFamilyPolicy,
      `must be 'RequireDualStack' or 'PreferDualStack' when multiple ${what} are specified`,
    );
  const errors = [
    ...(clusterIPs.length === 2 ? [message('cluster IPs')] : []),
    ...(ipFamilies.length === 2 ? [message('IP families')] : []),
  ];
  if (errors.length > 0) throw refuse(service, ...errors);
}

/** The embedded cluster has only IPv4 service addresses. */
function checkConfigured(service: Service, families: string[]): void {
  const { ipFamilyPolicy } = service.spec;
  const errors: FieldError[] = [];
  if (ipFamilyPolicy === 'RequireDualStack') {
    const why = 'this cluster is not configured for dual-stack services';
    errors.push(fieldError.invalid('spec.ipFamilyPolicy', ipFamilyPolicy, why));
  }
  for (const [i, family] of families.entries()) {
    if (family !== 'IPv4') {
      errors.push(fieldError.invalid(`spec.ipFamilies[${i}]`, family, 'not configured on this cluster'));
    }
  }
  if (errors.length > 0) throw refuse(service, ...errors);
}

function allocateClusterIP({ service, old, pool, claimant }: Allocation): void {
  const { spec } = service;
  const had = old !== undefined && old.spec.type !== 'ExternalName';
  if (spec.type === 'ExternalName' || spec.clusterIPs?.[0] === HEADLESS || had) return;
  const [requested = ''] = spec.clusterIPs ?? [];
  if (requested !== '') {
    const why = pool.claimAddress(requested, claimant);
    if (why === undefined) return;
    const detail = `failed to allocate IP ${requested}: ${why}`;
    throw refuse(service, fieldError.invalid('spec.clusterIPs', spec.clusterIPs, detail));
  }
  const given = pool.anyAddress(claimant);
  if (given === undefined) {
    const name = JSON.stringify(service.metadata.name);
    throw internalError(new Error(`failed to allocate a serviceIP for Service ${name}: range is full`));
  }
  spec.clusterIP = given;
  spec.clusterIPs = [given];
}

function allocateNodePorts(allocation: Allocation): void {
  const { service, old, pool, claimant } = allocation;
  const { spec } = service;
  const held = new Set(old === undefined ? [] : nodePortsOf(old.spec));
  const byPort = new Map<number, number>();
  const wanted =
    spec.type === 'NodePort' || (spec.type === 'LoadBalancer' && spec.allocateLoadBalancerNodePorts);
  for (const [i, port] of (usesNodePorts(spec) ? (spec.ports ?? []) : []).entries()) {
    const number = port.port ?? 0;
    const requested =
      port.nodePort || (spec.ports ?? []).find((p) => p.port === number && p.nodePort)?.nodePort;
    if (requested === undefined && !wanted) continue;
    // TCP and UDP on the same port number share a node port.
    const nodePort = requested ?? byPort.get(number) ?? anyPort(allocation);
    if (requested !== undefined && !held.has(nodePort)) {
      const why = pool.claimPort(nodePort, claimant);
      if (why !== undefined)
        throw refuse(service, fieldError.invalid(`spec.ports[${i}].nodePort`, nodePort, why));
    }
    held.add(nodePort);
    byPort.set(number, nodePort);
    port.nodePort = nodePort;
  }
  allocateHealthCheckPort(allocation);
}

function anyPort({ pool, claimant }: Allocation): number {
  const port = pool.anyPort(claimant);
  if (port === undefined) throw internalError(new Error('failed to allocate a nodePort: range is full'));
  return port;
}

function allocateHealthCheckPort(allocation: Allocation): void {
  const { service, old, pool, claimant } = allocation;
  const { spec } = service;
  if (!needsHealthCheck(spec) || (old !== undefined && needsHealthCheck(old.spec))) return;
  const requested = spec.healthCheckNodePort ?? 0;
  if (requested === 0) {
    spec.healthCheckNodePort = anyPort(allocation);
    return;
  }
  const why = pool.claimPort(requested, claimant);
  if (why !== undefined) {
    throw internalError(new Error(`failed to allocate requested HealthCheck NodePort ${requested}: ${why}`));
  }
}
