/** Validation of services. Addresses and families are in cluster-ips.ts. */
import { type FieldError, fieldError } from '@tidegate/serving';
import { validatePort } from '../pod/probes.ts';
import { each, named, oneOf, supported } from '../validation/checks.ts';
import { validateEndpointIP } from '../validation/endpoint-ip.ts';
import { INVALID_CIDR, INVALID_IP, isAddress, isCIDR } from '../validation/ip.ts';
import { isDNS1123Label, isDNS1123Subdomain, isLabelKey, isPortNumber } from '../validation/names.ts';
import { validateLabels } from '../validation/selectors.ts';
import { validateClusterIPs } from './cluster-ips.ts';
import {
  HEADLESS,
  isExternallyAccessible,
  needsHealthCheck,
  type Service,
  type ServicePort,
  type ServiceSpec,
} from './types.ts';

const LOAD_BALANCER_ONLY = "may only be used when `type` is 'LoadBalancer'";
const MAX_AFFINITY_SECONDS = 86_400;

export function validateService({ spec }: Service): FieldError[] {
  return [
    ...validateType(spec),
    ...validatePorts(spec),
    ...validateLabels(spec.selector, 'spec.selector'),
    ...validateAffinity(spec),
    ...validateClusterIPs(spec),
    ...each('spec.externalIPs', spec.externalIPs, (ip, at) =>
      isAddress(ip) ? validateEndpointIP(at, ip) : [fieldError.invalid(at, ip, INVALID_IP)],
    ),
    ...oneOf('spec.type', spec.type, ['ClusterIP', 'ExternalName', 'LoadBalancer', 'NodePort']),
    ...validateNodePorts(spec),
    ...validateDuplicatePorts(spec),
    ...validateLoadBalancer(spec),
    ...validateTraffic(spec),
  ];
}

function validateType(spec: ServiceSpec): FieldError[] {
  const { type, clusterIP, clusterIPs = [], externalName = '' } = spec;
  const headless = clusterIP === HEADLESS;
  const errors: FieldError[] = [];
  if ((spec.ports ?? []).length === 0 && !headless && type !== 'ExternalName') {
    errors.push(fieldError.required('spec.ports'));
  }
  if ((type === 'LoadBalancer' || type === 'NodePort') && headless) {
    const detail = `may not be set to 'None' for ${type} services`;
    errors.push(fieldError.invalid('spec.clusterIPs[0]', clusterIPs[0], detail));
  }
  if (type !== 'ExternalName') return errors;
  const detail = 'may not be set for ExternalName services';
  if (clusterIPs.length > 0) errors.push(fieldError.forbidden('spec.clusterIPs', detail));
  if ((spec.ipFamilies ?? []).length > 0) errors.push(fieldError.forbidden('spec.ipFamilies', detail));
  if (spec.ipFamilyPolicy !== undefined) errors.push(fieldError.forbidden('spec.ipFamilyPolicy', detail));
  const name = externalName.replace(/\.$/, '');
  if (name === '') return [...errors, fieldError.required('spec.externalName')];
  return [...errors, ...named('spec.externalName', name, isDNS1123Subdomain(name))];
}

function validatePorts({ ports = [] }: ServiceSpec): FieldError[] {
  const names = new Set<string>();
  return each('spec.ports', ports, (port, at) => {
    const { name = '' } = port;
    const errors: FieldError[] = [];
    if (name !== '') {
      errors.push(...named(`${at}.name`, name, isDNS1123Label(name)));
      if (names.has(name)) errors.push(fieldError.duplicate(`${at}.name`, name));
      names.add(name);
    } else if (ports.length > 1) errors.push(fieldError.required(`${at}.name`));
    return [...errors, ...validateNumbers(port, at)];
  });
}

function validateNumbers(
  { port = 0, protocol, targetPort, appProtocol }: ServicePort,
  at: string,
): FieldError[] {
  return [
    ...isPortNumber(port).map((message) => fieldError.invalid(`${at}.port`, port, message)),
    ...oneOf(`${at}.protocol`, protocol, ['SCTP', 'TCP', 'UDP']),
    ...validatePort(`${at}.targetPort`, targetPort),
    ...(appProtocol === undefined ? [] : named(`${at}.appProtocol`, appProtocol, isLabelKey(appProtocol))),
  ];
}

function validateAffinity({ sessionAffinity, sessionAffinityConfig }: ServiceSpec): FieldError[] {
  const errors = oneOf('spec.sessionAffinity', sessionAffinity, ['ClientIP', 'None']);
  if (sessionAffinity !== 'ClientIP') return errors;
  const seconds = sessionAffinityConfig?.clientIP?.timeoutSeconds ?? 0;
  if (seconds > 0 && seconds <= MAX_AFFINITY_SECONDS) return errors;
  return [
    ...errors,
    fieldError.invalid(
      'spec.sessionAffinityConfig.clientIP.timeoutSeconds',
      seconds,
      `must be greater than 0 and less than ${MAX_AFFINITY_SECONDS}`,
    ),
  ];
}

function validateNodePorts({ type, ports }: ServiceSpec): FieldError[] {
  const seen = new Set<string>();
  const used = (ports ?? []).flatMap((port, i) =>
    port.nodePort ? [{ port, at: `spec.ports[${i}].nodePort` }] : [],
  );
  return [
    ...(type === 'ClusterIP'
      ? used.map(({ at }) => fieldError.forbidden(at, "may not be used when `type` is 'ClusterIP'"))
      : []),
    ...used.flatMap(({ port, at }) => {
      const key = `${port.protocol}/${port.nodePort}`;
      const duplicate = seen.has(key) ? [fieldError.duplicate(at, port.nodePort)] : [];
      seen.add(key);
      return duplicate;
    }),
  ];
}

function validateDuplicatePorts({ ports }: ServiceSpec): FieldError[] {
  const seen = new Set<string>();
  return each('spec.ports', ports, ({ protocol = '', port = 0 }, at) => {
    const key = `${protocol}/${port}`;
    const repeated = seen.has(key);
    seen.add(key);
    if (!repeated) return [];
    // kube-apiserver prints only the fields that make the port a duplicate, with their Go names.
    const shown = { Name: '', Protocol: protocol, AppProtocol: null, Port: port, TargetPort: 0, NodePort: 0 };
    return [fieldError.duplicate(at, shown)];
  });
}

function validateLoadBalancer(spec: ServiceSpec): FieldError[] {
  const { type, loadBalancerSourceRanges: ranges = [], loadBalancerClass } = spec;
  const errors: FieldError[] = [];
  const forbid = (field: string): void =>
    void errors.push(fieldError.forbidden(`spec.${field}`, LOAD_BALANCER_ONLY));
  if (ranges.length > 0 && type !== 'LoadBalancer') forbid('LoadBalancerSourceRanges');
  errors.push(
    ...each('spec.LoadBalancerSourceRanges', ranges, (range, at) =>
      isCIDR(range.trim()) ? [] : [fieldError.invalid(at, range.trim(), INVALID_CIDR)],
    ),
  );
  if (spec.allocateLoadBalancerNodePorts !== undefined && type !== 'LoadBalancer') {
    forbid('allocateLoadBalancerNodePorts');
  }
  if (loadBalancerClass !== undefined) {
    if (type === 'LoadBalancer') {
      errors.push(...named('spec.loadBalancerClass', loadBalancerClass, isLabelKey(loadBalancerClass)));
    } else forbid('loadBalancerClass');
  }
  return errors;
}

function validateTraffic(spec: ServiceSpec): FieldError[] {
  const { externalTrafficPolicy = '', internalTrafficPolicy, healthCheckNodePort = 0 } = spec;
  const errors: FieldError[] = [];
  const path = 'spec.externalTrafficPolicy';
  if (isExternallyAccessible(spec)) errors.push(...oneOf(path, externalTrafficPolicy, ['Cluster', 'Local']));
  else if (externalTrafficPolicy !== '') {
    const detail = 'may only be set for externally-accessible services';
    errors.push(fieldError.invalid(path, externalTrafficPolicy, detail));
  }
  if (healthCheckNodePort !== 0 && !needsHealthCheck(spec)) {
    const detail = "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'";
    errors.push(fieldError.invalid('spec.healthCheckNodePort', healthCheckNodePort, detail));
  }
  return [
    ...errors,
    ...supported('spec.internalTrafficPolicy', internalTrafficPolicy, ['Cluster', 'Local']),
    ...supported('spec.trafficDistribution', spec.trafficDistribution, [
      'PreferClose',
      'PreferSameZone',
      'PreferSameNode',
    ]),
  ];
}

export function validateServiceUpdate({ spec }: Service, { spec: old }: Service): FieldError[] {
  const errors: FieldError[] = [];
  const neverExternal = spec.type !== 'ExternalName' && old.type !== 'ExternalName';
  const staysHeadless = spec.clusterIP === HEADLESS && old.clusterIP === HEADLESS;
  if (neverExternal && !staysHeadless) {
    for (const [i, ip] of (old.clusterIPs ?? []).entries()) {
      if (ip !== spec.clusterIPs?.[i]) {
        errors.push(fieldError.invalid(`spec.clusterIPs[${i}]`, spec.clusterIPs, 'may not change once set'));
      }
    }
  }
  const stayLoadBalancer = spec.type === 'LoadBalancer' && old.type === 'LoadBalancer';
  if (stayLoadBalancer && spec.loadBalancerClass !== old.loadBalancerClass) {
    const shown = spec.loadBalancerClass ?? null;
    errors.push(fieldError.invalid('spec.loadBalancerClass', shown, 'may not change once set'));
  }
  const changed = spec.healthCheckNodePort !== old.healthCheckNodePort;
  if (needsHealthCheck(spec) && needsHealthCheck(old) && changed) {
    errors.push(fieldError.forbidden('spec.healthCheckNodePort', 'field is immutable'));
  }
  return errors;
}
