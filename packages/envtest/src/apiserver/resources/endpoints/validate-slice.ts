import { type FieldError, fieldError } from '@tidegate/serving';
import { each, named, oneOf } from '../validation/checks.ts';
import { validateEndpointIP } from '../validation/endpoint-ip.ts';
import { INVALID_IP, isAddress, isIPv4, isIPv6 } from '../validation/ip.ts';
import {
  IMMUTABLE,
  isDNS1123Label,
  isDNS1123Subdomain,
  isLabelKey,
  isLabelValue,
} from '../validation/names.ts';
import { validateLabels } from '../validation/selectors.ts';
import type { EndpointPort, EndpointSlice, SliceEndpoint } from './types.ts';

const MAX_ENDPOINTS = 1000;
const MAX_PORTS = 20_000;
const MAX_ADDRESSES = 100;
const MAX_HINTS = 8;

/** A change of the address type is an error of its own. The addresses are still validated by the old type. */
export function validateEndpointSlice(slice: EndpointSlice, old?: EndpointSlice): FieldError[] {
  const { ports } = slice;
  const addressType = old?.addressType ?? slice.addressType;
  const endpoints = slice.endpoints ?? [];
  return [
    ...oneOf('addressType', addressType, ['FQDN', 'IPv4', 'IPv6']),
    ...validatePorts(ports ?? []),
    ...(endpoints.length > MAX_ENDPOINTS
      ? [fieldError.tooMany('endpoints', endpoints.length, MAX_ENDPOINTS)]
      : each('endpoints', endpoints, (endpoint, at) => validateEndpoint(endpoint, addressType ?? '', at))),
  ];
}

export const validateEndpointSliceUpdate = (
  { addressType }: EndpointSlice,
  old: EndpointSlice,
): FieldError[] =>
  addressType === old.addressType ? [] : [fieldError.invalid('addressType', addressType ?? '', IMMUTABLE)];

function validatePorts(ports: EndpointPort[]): FieldError[] {
  if (ports.length > MAX_PORTS) return [fieldError.tooMany('ports', ports.length, MAX_PORTS)];
  const names = new Set<string>();
  return each('ports', ports, ({ name = '', protocol, appProtocol }, at) => {
    const duplicate = names.has(name) ? [fieldError.duplicate(`${at}.name`, name)] : [];
    names.add(name);
    return [
      ...(name === '' ? [] : named(`${at}.name`, name, isDNS1123Label(name))),
      ...duplicate,
      ...oneOf(`${at}.protocol`, protocol, ['SCTP', 'TCP', 'UDP']),
      ...(appProtocol === undefined ? [] : named(`${at}.appProtocol`, appProtocol, isLabelKey(appProtocol))),
    ];
  });
}

function validateEndpoint(endpoint: SliceEndpoint, addressType: string, path: string): FieldError[] {
  const { addresses = [], nodeName, hostname, hints, deprecatedTopology } = endpoint;
  const at = `${path}.addresses`;
  return [
    ...(addresses.length === 0 ? [fieldError.required(at, 'must contain at least 1 address')] : []),
    ...(addresses.length > MAX_ADDRESSES ? [fieldError.tooMany(at, addresses.length, MAX_ADDRESSES)] : []),
    ...each(at, addresses, (address, addressPath) => validateAddress(address, addressType, addressPath, at)),
    ...(nodeName === undefined ? [] : named(`${path}.nodeName`, nodeName, isDNS1123Subdomain(nodeName))),
    ...validateLabels(deprecatedTopology, `${path}.deprecatedTopology`),
    ...(hostname === undefined ? [] : named(`${path}.hostname`, hostname, isDNS1123Label(hostname))),
    ...validateHints(hints?.forZones, isLabelValue, `${path}.hints.forZones`),
    ...validateHints(hints?.forNodes, isDNS1123Subdomain, `${path}.hints.forNodes`),
  ];
}

function validateAddress(address: string, addressType: string, path: string, list: string): FieldError[] {
  if (addressType === 'FQDN') return validateDomain(address, path);
  if (addressType !== 'IPv4' && addressType !== 'IPv6') return [];
  if (!isAddress(address)) return [fieldError.invalid(path, address, INVALID_IP)];
  const fits = addressType === 'IPv4' ? isIPv4(address) : isIPv6(address);
  return [
    ...(fits ? [] : [fieldError.invalid(list, address, `must be an ${addressType} address`)]),
    ...validateEndpointIP(path, address),
  ];
}

function validateDomain(address: string, path: string): FieldError[] {
  if (address === '') return [fieldError.required(path)];
  const name = address.replace(/\.$/, '');
  const messages = isDNS1123Subdomain(name);
  if (messages.length > 0) return [fieldError.invalid(path, name, messages.join(','))];
  if (!name.includes('.')) {
    const detail = 'should be a domain with at least two segments separated by dots';
    return [fieldError.invalid(path, name, detail)];
  }
  return [];
}

function validateHints(
  hints: { name?: string }[] | undefined,
  rule: (name: string) => string[],
  path: string,
): FieldError[] {
  if ((hints ?? []).length > MAX_HINTS) return [fieldError.tooMany(path, (hints ?? []).length, MAX_HINTS)];
  const seen = new Set<string>();
  return each(path, hints, ({ name = '' }, at) => {
    const duplicate = seen.has(name) ? [fieldError.duplicate(`${at}.name`, name)] : [];
    seen.add(name);
    return [...duplicate, ...named(`${at}.name`, name, rule(name))];
  });
}
