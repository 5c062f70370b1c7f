import type { ConfigMap, IngressClass } from '@tidegate/kube';
import { INGRESS_CLASS_PARAMETERS, type IngressClassParameters, SYSTEM_NAMESPACE } from '../../api/index.ts';
import { driverOf } from './drivers.ts';
import { type ClassSettings, knownParameters, readSettings } from './settings.ts';

/** An IngressClass that is ours. */
export interface ResolvedClass {
  readonly name: string;
  /** Milliseconds since the epoch. */
  readonly created: number;
  readonly driver: string;
  /** Undefined when they can not be known: then nothing is provisioned, and what there is stays as it is. */
  readonly settings: ClassSettings | undefined;
  readonly problems: readonly ClassProblem[];
}

export interface ClassProblem {
  readonly reason: 'ParametersNotFound' | 'InvalidParameters' | 'UnknownParameters' | 'AddressConflict';
  readonly message: string;
}

/** The object that a class names. */
export interface ParametersReference {
  readonly kind: 'IngressClassParameters' | 'ConfigMap';
  readonly namespace: string;
  readonly name: string;
}

export interface ParametersSource {
  get(reference: ParametersReference): IngressClassParameters | ConfigMap | undefined;
}

/** Undefined when it is none of ours. Without a source, as one whose parameters nobody has looked at yet. */
export function resolveClass(
  object: IngressClass,
  source: ParametersSource | undefined,
): ResolvedClass | undefined {
  const driver = driverOf(object.spec?.controller);
  if (driver === undefined) return undefined;
  const known = { name: `${object.metadata.name}`, created: createdOf(object), driver };
  if (source === undefined) return { ...known, settings: undefined, problems: [] };
  const parameters = parametersOf(object, source);
  if ('reason' in parameters) return { ...known, settings: undefined, problems: [parameters] };
  const { settings, problems, unknown } = readSettings(parameters.words);
  if (problems.length > 0) {
    const message = `Nothing is provisioned until it is mended: ${problems.join('; ')}`;
    return { ...known, settings: undefined, problems: [{ reason: 'InvalidParameters', message }] };
  }
  return { ...known, settings, problems: unknown.length === 0 ? [] : [unknownParameters(unknown)] };
}

/** Where the parameters of a class are; undefined when it names none, an error when nobody can have them. */
export function referenceOf({ spec }: IngressClass): ParametersReference | ClassProblem | undefined {
  const reference = spec?.parameters;
  if (reference === undefined) return undefined;
  const { apiGroup = '', kind, name, scope = 'Cluster', namespace } = reference;
  const where = scope === 'Namespace' ? (namespace ?? '') : SYSTEM_NAMESPACE;
  if (kind === 'ConfigMap' && apiGroup === '') return { kind, namespace: where, name };
  if (kind === 'IngressClassParameters' && apiGroup === INGRESS_CLASS_PARAMETERS.group) {
    return { kind, namespace: where, name };
  }
  const message = `spec.parameters: a ${kind} of group ${JSON.stringify(apiGroup)} says nothing here: name an IngressClassParameters of ${INGRESS_CLASS_PARAMETERS.group}, or a ConfigMap.`;
  return { reason: 'ParametersNotFound', message };
}

function parametersOf(
  object: IngressClass,
  source: ParametersSource,
): { words: Readonly<Record<string, string>> } | ClassProblem {
  const reference = referenceOf(object);
  if (reference === undefined) return { words: {} };
  if ('reason' in reference) return reference;
  const found = source.get(reference);
  if (found !== undefined) return { words: wordsOf(found) };
  const { kind, namespace, name } = reference;
  const message = `There is no ${kind} ${name} in namespace ${namespace}: nothing is provisioned until there is. Make it there, or name the namespace with scope: Namespace in spec.parameters.`;
  return { reason: 'ParametersNotFound', message };
}

const wordsOf = (found: IngressClassParameters | ConfigMap): Readonly<Record<string, string>> => {
  const { parameters, data } = found as Partial<IngressClassParameters> & Pick<ConfigMap, 'data'>;
  return (found.kind === 'ConfigMap' ? data : parameters) ?? {};
};

function unknownParameters(unknown: readonly string[]): ClassProblem {
  const names = unknown.slice(0, 10).map((name) => JSON.stringify(name.slice(0, 63)));
  const message = `Nobody knows ${names.join(', ')}; known are ${knownParameters().join(', ')}.`;
  return { reason: 'UnknownParameters', message };
}

function createdOf({ metadata }: IngressClass): number {
  const created = Date.parse(metadata.creationTimestamp ?? '');
  return Number.isNaN(created) ? Number.MAX_SAFE_INTEGER : created;
}
