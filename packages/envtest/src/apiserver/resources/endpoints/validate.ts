import { type FieldError, fieldError } from '@tidegate/serving';
import { each, named, oneOf } from '../validation/checks.ts';
import { validateEndpointIP } from '../validation/endpoint-ip.ts';
import { semanticallyEqual } from '../validation/equal.ts';
import { INVALID_IP, isAddress } from '../validation/ip.ts';
import { isDNS1123Label, isDNS1123Subdomain, isLabelKey, isPortNumber } from '../validation/names.ts';
import type { EndpointAddress, EndpointPort, EndpointSubset, Endpoints } from './types.ts';

/** Unchanged subsets are not validated again. */
export const validateEndpoints = ({ subsets }: Endpoints, old?: Endpoints): FieldError[] =>
  old !== undefined && semanticallyEqual(subsets, old.subsets) ? [] : validateSubsets(subsets);

const validateSubsets = (subsets: EndpointSubset[] | undefined): FieldError[] =>
  each('subsets', subsets, ({ addresses = [], notReadyAddresses = [], ports = [] }, at) => [
    ...(addresses.length + notReadyAddresses.length === 0
      ? [fieldError.required(at, 'must specify `addresses` or `notReadyAddresses`')]
      : []),
    ...each(`${at}.addresses`, addresses, validateAddress),
    ...each(`${at}.notReadyAddresses`, notReadyAddresses, validateAddress),
    ...each(`${at}.ports`, ports, (port, path) => validatePort(port, ports.length > 1, path)),
  ]);

function validateAddress({ ip = '', hostname = '', nodeName }: EndpointAddress, path: string): FieldError[] {
  const wellFormed = isAddress(ip);
  return [
    ...(wellFormed ? [] : [fieldError.invalid(`${path}.ip`, ip, INVALID_IP)]),
    ...(hostname === '' ? [] : named(`${path}.hostname`, hostname, isDNS1123Label(hostname))),
    ...(nodeName === undefined ? [] : named(`${path}.nodeName`, nodeName, isDNS1123Subdomain(nodeName))),
    ...(wellFormed
      ? validateEndpointIP(`${path}.ip`, ip)
      : [fieldError.invalid(`${path}.ip`, ip, 'must be a valid IP address')]),
  ];
}

function validatePort(port: EndpointPort, needsName: boolean, path: string): FieldError[] {
  const { name = '', port: number = 0, protocol, appProtocol } = port;
  return [
    ...(name === '' && needsName ? [fieldError.required(`${path}.name`)] : []),
    ...(name === '' ? [] : named(`${path}.name`, name, isDNS1123Label(name))),
    ...isPortNumber(number).map((message) => fieldError.invalid(`${path}.port`, number, message)),
    ...oneOf(`${path}.protocol`, protocol, ['SCTP', 'TCP', 'UDP']),
    ...(appProtocol === undefined ? [] : named(`${path}.appProtocol`, appProtocol, isLabelKey(appProtocol))),
  ];
}
