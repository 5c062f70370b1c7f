import type { ConfigMap, IngressClass } from '@tidegate/kube';
import {
  CLASS_PARAMETERS_ANNOTATION,
  INGRESS_CLASS_PARAMETERS,
  type IngressClassParameters,
  SYSTEM_NAMESPACE,
} from '../../api/index.ts';
import {
  type Capability,
  type Programming,
  type ProvisionerProfile,
  type ProvisionerRegistry,
  sizeProblem,
} from '../provisioners/index.ts';
import {
  type ClassSettings,
  isKnownParameter,
  knownParameters,
  readSettings,
  tenantParameters,
} from './settings.ts';

/** An IngressClass of Tidegate. */
export interface ResolvedClass {
  readonly name: string;
  /** Milliseconds since the epoch. */
  readonly created: number;
  /** `spec.driver` of its routers. */
  readonly driver: string;
  readonly programming: Programming;
  /** What a provisioner that is not part of Tidegate can do. The manager checks its hosts before they are placed. */
  readonly abilities?: { readonly controller: string; readonly capabilities: readonly Capability[] };
  /**
   * Undefined if the parameters are missing or invalid: then nothing is provisioned and existing routers stay
   * unchanged.
   */
  readonly settings: ClassSettings | undefined;
  readonly problems: readonly ClassProblem[];
}

/** Becomes an event of the IngressClass. */
export interface ClassProblem {
  readonly reason:
    | 'ParametersNotFound'
    | 'InvalidParameters'
    | 'UnknownParameters'
    | 'ParametersIgnored'
    | 'UnknownController'
    | 'AddressConflict'
    | 'PodsConflict';
  readonly message: string;
}

/** The object that `spec.parameters` of a class refers to. */
export interface ParametersReference {
  readonly kind: 'IngressClassParameters' | 'ConfigMap';
  readonly namespace: string;
  readonly name: string;
}

export interface ParametersSource {
  get(reference: ParametersReference): IngressClassParameters | ConfigMap | undefined;
}

/**
 * Returns undefined if the class is not one of Tidegate. Without a source, for example while its ConfigMap is being
 * listed, the class has no settings and no problems.
 */
export function resolveClass(
  object: IngressClass,
  source: ParametersSource | undefined,
  provisioners: Pick<ProvisionerRegistry, 'forController'>,
): ResolvedClass | undefined {
  const controller = object.spec?.controller ?? '';
  const profile = provisioners.forController(controller);
  if (profile === undefined) return undefined;
  const { driver, programming } = profile;
  const known = {
    name: `${object.metadata.name}`,
    created: createdOf(object),
    driver,
    programming,
    ...(programming === 'external' && {
      abilities: { controller: profile.controller, capabilities: [...profile.capabilities].sort() },
    }),
  };
  if (source === undefined) return { ...known, settings: undefined, problems: [] };
  const parameters = parametersOf(object, source);
  if ('reason' in parameters) return { ...known, settings: undefined, problems: [parameters] };
  const invalid = (message: string): ResolvedClass => ({
    ...known,
    settings: undefined,
    problems: [{ reason: 'InvalidParameters', message }],
  });
  const size = sizeProblem(parameters.values);
  if (size !== undefined) return invalid(`Invalid parameters, nothing is provisioned: ${size}.`);
  const reserved = reservedParameters(object, parameters.values, profile);
  if (reserved !== undefined) return invalid(reserved);
  const { settings, problems, unknown, ignored } = readSettings(parameters.values, profile, controller);
  if (problems.length > 0)
    return invalid(`Invalid parameters, nothing is provisioned: ${problems.join('; ')}.`);
  const small = tooSmall(object, parameters.values, settings);
  if (small !== undefined) return invalid(small);
  return {
    ...known,
    settings,
    problems: [
      ...(unknown.length === 0 ? [] : [unknownParameters(unknown, profile)]),
      ...(ignored.length === 0 ? [] : [withoutEffect(ignored)]),
    ],
  };
}

/**
 * Where the parameters of a class are. Undefined if it has none; a problem if the kind of the reference is not
 * supported.
 */
export function referenceOf({ spec }: IngressClass): ParametersReference | ClassProblem | undefined {
  const reference = spec?.parameters;
  if (reference === undefined) return undefined;
  const { apiGroup = '', kind, name, scope = 'Cluster', namespace } = reference;
  const where = scope === 'Namespace' ? (namespace ?? '') : SYSTEM_NAMESPACE;
  if (kind === 'ConfigMap' && apiGroup === '') return { kind, namespace: where, name };
  if (kind === 'IngressClassParameters' && apiGroup === INGRESS_CLASS_PARAMETERS.group) {
    return { kind, namespace: where, name };
  }
  const message = `spec.parameters: kind ${kind} of API group ${JSON.stringify(apiGroup)} is not supported. Use an IngressClassParameters of ${INGRESS_CLASS_PARAMETERS.group}, or a ConfigMap.`;
  return { reason: 'ParametersNotFound', message };
}

function parametersOf(
  object: IngressClass,
  source: ParametersSource,
): { values: Readonly<Record<string, string>> } | ClassProblem {
  const reference = referenceOf(object);
  if (reference === undefined) return annotatedParameters(object);
  if ('reason' in reference) return reference;
  const found = source.get(reference);
  if (found !== undefined) return { values: valuesOf(found) };
  const { kind, namespace, name } = reference;
  const message = `spec.parameters: ${kind} ${namespace}/${name} not found, nothing is provisioned. Create it, or set spec.parameters.scope to Namespace and spec.parameters.namespace to its namespace.`;
  return { reason: 'ParametersNotFound', message };
}

/** The parameters in the annotation. Only administrators of the cluster can write an IngressClass. */
export function annotatedParameters({
  metadata,
}: IngressClass): { values: Readonly<Record<string, string>> } | ClassProblem {
  const text = metadata.annotations?.[CLASS_PARAMETERS_ANNOTATION];
  if (text === undefined) return { values: {} };
  const invalid: ClassProblem = {
    reason: 'InvalidParameters',
    message: `The annotation ${CLASS_PARAMETERS_ANNOTATION} is not a JSON object whose values are strings, nothing is provisioned. Write for example {"replicas": "2"}, or use spec.parameters.`,
  };
  try {
    const values: unknown = JSON.parse(text);
    const isMap = typeof values === 'object' && values !== null && !Array.isArray(values);
    if (!isMap || Object.values(values).some((value) => typeof value !== 'string')) return invalid;
    return { values: values as Record<string, string> };
  } catch {
    return invalid;
  }
}

const valuesOf = (found: IngressClassParameters | ConfigMap): Readonly<Record<string, string>> => {
  const { parameters, data } = found as Partial<IngressClassParameters> & Pick<ConfigMap, 'data'>;
  return (found.kind === 'ConfigMap' ? data : parameters) ?? {};
};

/**
 * A sentence if the parameters of a tenant set more than a tenant may set. The others decide what the manager runs with its
 * own permissions, and where: they must be in the namespace of Tidegate, which only administrators can write to.
 */
function reservedParameters(
  object: IngressClass,
  values: object,
  profile: ProvisionerProfile,
): string | undefined {
  const reference = referenceOf(object);
  if (reference === undefined || 'reason' in reference || reference.namespace === SYSTEM_NAMESPACE)
    return undefined;
  const allowed = tenantParameters(profile);
  // What a provisioner outside of Tidegate does with an unknown parameter is not known.
  const isReserved = (name: string): boolean =>
    !allowed.includes(name) && (isKnownParameter(profile, name) || profile.programming !== 'agent');
  const names = Object.keys(values).filter(isReserved);
  if (names.length === 0) return undefined;
  const { kind, namespace, name } = reference;
  return `${kind} ${namespace}/${name} must not set ${names.toSorted().join(', ')}, nothing is provisioned. In the namespace ${namespace}, only ${allowed.join(', ')} are allowed: move the parameters to ${SYSTEM_NAMESPACE}, and remove spec.parameters.scope and spec.parameters.namespace.`;
}

/** Every router is a workload with an address: with a low capacity, each host of a tenant would get its own. */
const TENANT_MINIMUM = { maxHosts: 1_000, maxRules: 10_000 };

function tooSmall(
  object: IngressClass,
  values: Readonly<Record<string, string>>,
  { capacity }: ClassSettings,
): string | undefined {
  const reference = referenceOf(object);
  if (reference === undefined || 'reason' in reference || reference.namespace === SYSTEM_NAMESPACE)
    return undefined;
  const { kind, namespace, name } = reference;
  for (const [parameter, least] of Object.entries(TENANT_MINIMUM)) {
    const value = capacity[parameter as keyof typeof TENANT_MINIMUM] ?? least;
    // The limits of the provisioner itself may be lower.
    if (!Object.hasOwn(values, parameter) || value >= least) continue;
    return `${kind} ${namespace}/${name} sets ${parameter} to ${value}, nothing is provisioned. In the namespace ${namespace}, it must be at least ${least}: move the parameters to ${SYSTEM_NAMESPACE}, or increase it.`;
  }
  return undefined;
}

function unknownParameters(unknown: readonly string[], profile: ProvisionerProfile): ClassProblem {
  const names = unknown.slice(0, 10).map((name) => JSON.stringify(name.slice(0, 63)));
  const ignored = profile.programming === 'agent' ? 'are ignored' : 'are passed on';
  const message = `Unknown parameters ${ignored}: ${names.join(', ')}. Supported parameters: ${knownParameters(profile).join(', ')}.`;
  return { reason: 'UnknownParameters', message };
}

function withoutEffect(ignored: readonly { key: string; message: string }[]): ClassProblem {
  const texts = ignored.slice(0, 5).map(({ key, message }) => `${key}: ${message}`);
  const more = ignored.length > texts.length ? ` So do ${ignored.length - texts.length} more.` : '';
  return { reason: 'ParametersIgnored', message: `Parameters have no effect. ${texts.join(' ')}${more}` };
}

/** An object without a valid time counts as the youngest. */
function createdOf({ metadata }: IngressClass): number {
  const created = Date.parse(metadata.creationTimestamp ?? '');
  return Number.isNaN(created) ? Number.MAX_SAFE_INTEGER : created;
}
