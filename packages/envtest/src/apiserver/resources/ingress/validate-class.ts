import { type FieldError, fieldError } from '@tidegate/serving';
import { named, supported } from '../validation/checks.ts';
import { IMMUTABLE, isDNS1123Label, isDNS1123Subdomain, regexMessage } from '../validation/names.ts';
import type { IngressClass, IngressClassParameters } from './types.ts';
import { validateReference } from './validate.ts';

const MAX_CONTROLLER = 250;
const PATH = "[A-Za-z0-9/\\-._~%!$&'()*+,;=:]+";
const pathRegex = new RegExp(`^${PATH}$`);

export function validateIngressClass({ spec }: IngressClass): FieldError[] {
  const { controller = '', parameters } = spec;
  return [
    ...(controller.length > MAX_CONTROLLER ? [fieldError.tooLong('spec.controller', MAX_CONTROLLER)] : []),
    ...validateDomainPrefixedPath('spec.controller', controller),
    ...(parameters ? validateParameters(parameters, 'spec.parameters') : []),
  ];
}

export const validateIngressClassUpdate = ({ spec }: IngressClass, old: IngressClass): FieldError[] =>
  spec.controller === old.spec.controller
    ? []
    : [fieldError.invalid('spec.controller', spec.controller ?? '', IMMUTABLE)];

/** For example `acme.io/foo`. */
function validateDomainPrefixedPath(path: string, value: string): FieldError[] {
  if (value === '') return [fieldError.required(path)];
  const slash = value.indexOf('/');
  const host = value.slice(0, slash);
  const rest = value.slice(slash + 1);
  if (slash < 0 || host === '' || rest === '') {
    return [fieldError.invalid(path, value, 'must be a domain-prefixed path (such as "acme.io/foo")')];
  }
  return [
    ...named(path, host, isDNS1123Subdomain(host)),
    ...(pathRegex.test(rest) ? [] : [fieldError.invalid(path, rest, regexMessage('Invalid path', PATH))]),
  ];
}

function validateParameters(parameters: IngressClassParameters, path: string): FieldError[] {
  const { scope = '', namespace } = parameters;
  const errors = validateReference(parameters, path);
  const wrongScope = supported(`${path}.scope`, scope, ['Cluster', 'Namespace']);
  if (wrongScope.length > 0) return [...errors, ...wrongScope];
  const because = `\`parameters.scope\` is set to '${scope}'`;
  if (scope === 'Cluster') {
    return namespace === undefined ? errors : [...errors, fieldError.forbidden(`${path}.namespace`, because)];
  }
  if (namespace === undefined) return [...errors, fieldError.required(`${path}.namespace`, because)];
  return [...errors, ...named(`${path}.namespace`, namespace, isDNS1123Label(namespace))];
}
