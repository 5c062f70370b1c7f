/** Validation of Ingress: hosts, paths, backends, TLS and class. */
import { type FieldError, fieldError } from '@tidegate/serving';
import { each, named, required } from '../validation/checks.ts';
import { INVALID_IP, isAddress } from '../validation/ip.ts';
import {
  isDNS1123Label,
  isDNS1123Subdomain,
  isPathSegmentName,
  isPortName,
  isPortNumber,
  isWildcardDNS1123Subdomain,
} from '../validation/names.ts';
import {
  CLASS_ANNOTATION,
  type Ingress,
  type IngressBackend,
  type IngressPath,
  type IngressRule,
  type TypedReference,
} from './types.ts';

const FORBIDDEN_IN_PATH = ['//', '/./', '/../', '%2f', '%2F'];
const FORBIDDEN_AT_END = ['/..', '/.'];
const PATH_TYPES = ['Exact', 'ImplementationSpecific', 'Prefix'];
const NOT_AN_IP = 'must be a DNS name, not an IP address';

export function validateIngress(ingress: Ingress, old?: Ingress): FieldError[] {
  const { spec } = ingress;
  const { rules = [], defaultBackend, ingressClassName } = spec;
  return [
    ...(rules.length === 0 && defaultBackend === undefined
      ? [fieldError.invalid('spec', spec.rules, 'either `defaultBackend` or `rules` must be specified')]
      : []),
    ...(defaultBackend ? validateBackend(defaultBackend, 'spec.defaultBackend') : []),
    ...each('spec.rules', rules, validateRule),
    ...validateTLS(ingress),
    ...(ingressClassName === undefined
      ? []
      : named('spec.ingressClassName', ingressClassName, isDNS1123Subdomain(ingressClassName))),
    ...(old === undefined ? validateClassAnnotation(ingress) : []),
  ];
}

/** The annotation and the field must be equal if both are set. Existing objects are not checked. */
function validateClassAnnotation({ metadata, spec }: Ingress): FieldError[] {
  const annotation = metadata.annotations?.[CLASS_ANNOTATION];
  if (
    annotation === undefined ||
    spec.ingressClassName === undefined ||
    annotation === spec.ingressClassName
  ) {
    return [];
  }
  const detail = 'must match `ingressClassName` when both are specified';
  return [fieldError.invalid(`annotations.${CLASS_ANNOTATION}`, annotation, detail)];
}

const validateHost = (path: string, host: string): FieldError[] =>
  named(path, host, host.includes('*') ? isWildcardDNS1123Subdomain(host) : isDNS1123Subdomain(host));

function validateRule({ host = '', http }: IngressRule, path: string): FieldError[] {
  const paths = http?.paths ?? [];
  return [
    ...(isAddress(host) ? [fieldError.invalid(`${path}.host`, host, NOT_AN_IP)] : []),
    ...(host === '' ? [] : validateHost(`${path}.host`, host)),
    ...(http !== undefined && paths.length === 0 ? [fieldError.required(`${path}.http.paths`)] : []),
    ...each(`${path}.http.paths`, paths, validatePath),
  ];
}

function validatePath({ path = '', pathType, backend }: IngressPath, at: string): FieldError[] {
  if (pathType === undefined) return [fieldError.required(`${at}.pathType`, 'pathType must be specified')];
  return [
    ...(PATH_TYPES.includes(pathType)
      ? validatePathText(path, pathType, `${at}.path`)
      : [fieldError.notSupported(`${at}.pathType`, pathType, PATH_TYPES)]),
    ...validateBackend(backend ?? {}, `${at}.backend`),
  ];
}

function validatePathText(path: string, pathType: string, at: string): FieldError[] {
  const strict = pathType !== 'ImplementationSpecific';
  const errors: FieldError[] = [];
  if (!path.startsWith('/') && (strict || path !== '')) {
    errors.push(fieldError.invalid(at, path, 'must be an absolute path'));
  }
  if (!strict) return errors;
  for (const part of FORBIDDEN_IN_PATH) {
    if (path.includes(part)) errors.push(fieldError.invalid(at, path, `must not contain '${part}'`));
  }
  for (const suffix of FORBIDDEN_AT_END) {
    if (path.endsWith(suffix)) errors.push(fieldError.invalid(at, path, `cannot end with '${suffix}'`));
  }
  return errors;
}

function validateBackend({ service, resource }: IngressBackend, path: string): FieldError[] {
  const wrong = (detail: string): FieldError[] => [fieldError.invalid(path, '', detail)];
  if (resource && service) return wrong('cannot set both resource and service backends');
  if (resource) return validateReference(resource, `${path}.resource`);
  if (!service) return wrong('resource or service backend is required');
  const { name = '', port = {} } = service;
  return [
    ...required(`${path}.service.name`, name),
    ...(name === '' ? [] : named(`${path}.service.name`, name, isDNS1123Label(name))),
    ...validateBackendPort(port, path),
  ];
}

function validateBackendPort(port: { name?: string; number?: number }, path: string): FieldError[] {
  const { name = '', number = 0 } = port;
  if (name !== '' && number !== 0)
    return [fieldError.invalid(path, '', 'cannot set both port name & port number')];
  if (name !== '') return named(`${path}.service.port.name`, name, isPortName(name));
  if (number === 0) return [fieldError.required(path, 'port name or number is required')];
  return isPortNumber(number).map((message) =>
    fieldError.invalid(`${path}.service.port.number`, number, message),
  );
}

export function validateReference(
  { apiGroup, kind = '', name = '' }: TypedReference,
  path: string,
): FieldError[] {
  return [
    ...(apiGroup === undefined ? [] : named(`${path}.apiGroup`, apiGroup, isDNS1123Subdomain(apiGroup))),
    ...(kind === ''
      ? [fieldError.required(`${path}.kind`)]
      : named(`${path}.kind`, kind, isPathSegmentName(kind))),
    ...(name === ''
      ? [fieldError.required(`${path}.name`)]
      : named(`${path}.name`, name, isPathSegmentName(name))),
  ];
}

const validateTLS = ({ spec }: Ingress): FieldError[] =>
  each('spec.tls', spec.tls, ({ hosts, secretName = '' }, at) => [
    ...each(`${at}.hosts`, hosts, (host, hostPath) => validateHost(hostPath, host)),
    ...(secretName === '' ? [] : named(`${at}.secretName`, secretName, isDNS1123Subdomain(secretName))),
  ]);

export const validateIngressStatus = ({ status }: Ingress): FieldError[] =>
  each('status.loadBalancer.ingress', status.loadBalancer?.ingress, ({ ip = '', hostname = '' }, at) => [
    ...(ip === '' || isAddress(ip) ? [] : [fieldError.invalid(`${at}.ip`, ip, INVALID_IP)]),
    ...(hostname === '' ? [] : named(`${at}.hostname`, hostname, isDNS1123Subdomain(hostname))),
    ...(isAddress(hostname) ? [fieldError.invalid(`${at}.hostname`, hostname, NOT_AN_IP)] : []),
  ]);
