import { type FieldError, fieldError } from '@tidegate/serving';
import { each, named, supported } from '../validation/checks.ts';
import { INVALID_CIDR, isCIDR } from '../validation/ip.ts';
import { isPortName, isPortNumber } from '../validation/names.ts';
import { validateLabelSelector } from '../validation/selectors.ts';
import type { NetworkPolicy, NetworkPolicyPeer, NetworkPolicyPort } from './types.ts';

const TYPES = ['Ingress', 'Egress'];

export function validateNetworkPolicy({ spec }: NetworkPolicy): FieldError[] {
  const { policyTypes = [] } = spec;
  return [
    ...validateLabelSelector(spec.podSelector, 'spec.podSelector'),
    ...each('spec.ingress', spec.ingress, ({ ports, from }, at) => [
      ...each(`${at}.ports`, ports, validatePort),
      ...each(`${at}.from`, from, validatePeer),
    ]),
    ...each('spec.egress', spec.egress, ({ ports, to }, at) => [
      ...each(`${at}.ports`, ports, validatePort),
      ...each(`${at}.to`, to, validatePeer),
    ]),
    ...(policyTypes.length > TYPES.length
      ? [fieldError.invalid('spec.policyTypes', policyTypes, 'may not specify more than two policyTypes')]
      : each('spec.policyTypes', policyTypes, (type, at) => supported(at, type, TYPES))),
  ];
}

function validatePort({ protocol, port, endPort }: NetworkPolicyPort, path: string): FieldError[] {
  const errors = supported(`${path}.protocol`, protocol, ['TCP', 'UDP', 'SCTP']);
  const wrongEnd = (value: unknown, detail: string): void =>
    void errors.push(fieldError.invalid(`${path}.endPort`, value, detail));
  if (port === undefined) {
    if (endPort !== undefined) wrongEnd(endPort, 'may not be specified when `port` is not specified');
  } else if (typeof port === 'string') {
    if (endPort !== undefined) wrongEnd(endPort, 'may not be specified when `port` is non-numeric');
    errors.push(...named(`${path}.port`, port, isPortName(port)));
  } else {
    errors.push(...isPortNumber(port).map((message) => fieldError.invalid(`${path}.port`, port, message)));
    if (endPort !== undefined && endPort < port) wrongEnd(port, 'must be greater than or equal to `port`');
    for (const message of endPort === undefined ? [] : isPortNumber(endPort)) wrongEnd(endPort, message);
  }
  return errors;
}

function validatePeer(
  { podSelector, namespaceSelector, ipBlock }: NetworkPolicyPeer,
  path: string,
): FieldError[] {
  const errors = [
    ...validateLabelSelector(podSelector, `${path}.podSelector`),
    ...validateLabelSelector(namespaceSelector, `${path}.namespaceSelector`),
    ...(ipBlock ? validateBlock(ipBlock, `${path}.ipBlock`) : []),
  ];
  if (!podSelector && !namespaceSelector && !ipBlock) {
    errors.push(fieldError.required(path, 'must specify a peer'));
  } else if (ipBlock && (podSelector || namespaceSelector)) {
    errors.push(fieldError.forbidden(path, 'may not specify both ipBlock and another peer'));
  }
  return errors;
}

function validateBlock(
  { cidr = '', except }: NonNullable<NetworkPolicyPeer['ipBlock']>,
  path: string,
): FieldError[] {
  if (cidr === '') return [fieldError.required(`${path}.cidr`)];
  const check = (value: string, at: string): FieldError[] =>
    isCIDR(value) ? [] : [fieldError.invalid(at, value, INVALID_CIDR)];
  return [...check(cidr, `${path}.cidr`), ...each(`${path}.except`, except, check)];
}
