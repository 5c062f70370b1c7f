import { isDeepStrictEqual } from 'node:util';
import { type Cache, INGRESSES, type Ingress, type IngressClass, type KubeObject } from '@tidegate/kube';
import { INGRESS_CLASS_ANNOTATION } from '../../api/index.ts';
import { classNameOf, type IngressProblem } from '../../ingress/compile/index.ts';
import type { ProvisionerRegistry } from '../../ingress/provisioners/index.ts';
import type { AdmissionResult } from '../review.ts';
import type { AdmissionRule, MatchCondition, Turn } from '../rule.ts';
import type { ParameterSources } from './ingress-class-parameters.ts';
import { type ExistingObjects, problemsIfCreated } from './ingress-problems.ts';
import { excessOf, sizeOf } from './ingress-size.ts';

/**
 * Problems that reject the Ingress. Other problems, for example a missing Service, only cause a warning, because
 * objects can be created in any order.
 */
const REJECTED: ReadonlySet<IngressProblem['reason']> = new Set([
  'HostConflict',
  'HostNotAllowed',
  'PathConflict',
  'InvalidHost',
  'TooManyHosts',
  'InvalidPath',
  'TooManyPaths',
  'UnknownAnnotation',
  'InvalidAnnotation',
  'AccessControlNotSupported',
  'PolicyConflict',
  'InvalidCertificate',
] as const);

/** The compiler reports it always here, because endpoints are not loaded. */
const NOT_CHECKED: IngressProblem['reason'] = 'NoEndpoints';

export interface IngressSources extends ExistingObjects, Pick<ParameterSources, 'parametersOf'> {
  readonly classes: Pick<Cache<IngressClass>, 'get' | 'list'>;
  readonly provisioners: Pick<ProvisionerRegistry, 'forController'>;
}

/**
 * Validates Ingresses of the classes that Tidegate serves, with the compiler that routers use. The webhook runs in the
 * manager, close to the API server, so that an unreachable pool never delays a request.
 */
export const ingressRule = (sources: IngressSources, now: () => number): AdmissionRule => ({
  group: INGRESSES.group,
  versions: [INGRESSES.version],
  resource: INGRESSES.resource,
  scope: 'Namespaced',
  operations: ['CREATE', 'UPDATE'],
  // Routers tolerate invalid Ingresses. The webhook only reports problems earlier.
  failurePolicy: 'Ignore',
  matchConditions: () => [classIsOneOf(sources.classes.list().filter((each) => isOurs(each, sources)))],
  async evaluate({ object, oldObject, namespace, name }, turn = async () => {}): Promise<AdmissionResult> {
    if (!object || isSame(object, oldObject)) return {};
    const excess = excessOf(sizeOf(object as Ingress));
    if (excess !== undefined) return tooLarge(excess, object as Ingress, oldObject as Ingress | null);
    // With generateName, the API server has not chosen the name yet.
    const named = (each: Ingress): Ingress => ({ ...each, metadata: { ...each.metadata, namespace, name } });
    const find = async (each: KubeObject): Promise<readonly IngressProblem[]> =>
      problemsOf(named(each as Ingress), sources, now(), turn);
    const problems = await find(object);
    const isComparable = oldObject && excessOf(sizeOf(oldObject as Ingress)) === undefined;
    const before = isComparable ? await find(oldObject) : [];
    const old = new Set(before.map(textOf));
    const isNew = (problem: IngressProblem): boolean => !old.has(textOf(problem));
    return {
      problems: problems
        .filter((problem) => REJECTED.has(problem.reason) && isNew(problem))
        .map(({ field, message }) => ({ path: field, message })),
      // A problem that the stored object already has must not block other changes.
      warnings: problems
        .filter((problem) => !REJECTED.has(problem.reason) || !isNew(problem))
        .map(({ field, message }) => `${field}: ${message}`),
    };
  },
});

const isOurs = ({ spec }: IngressClass, { provisioners }: IngressSources): boolean =>
  provisioners.forController(spec?.controller ?? '') !== undefined;

const ANNOTATION = JSON.stringify(INGRESS_CLASS_ANNOTATION);
/** The same as `classNameOf`, in CEL. */
const CLASS_NAME =
  'has(object.spec) && has(object.spec.ingressClassName) ? object.spec.ingressClassName : ' +
  `has(object.metadata.annotations) && ${ANNOTATION} in object.metadata.annotations ? object.metadata.annotations[${ANNOTATION}] : ""`;

/** The webhook is never called for Ingresses of other classes, so it cannot delay or block them. */
const classIsOneOf = (classes: readonly IngressClass[]): MatchCondition => ({
  name: 'class-is-ours',
  expression: `(${CLASS_NAME}) in [${classes.map(({ metadata }) => JSON.stringify(metadata.name)).toSorted()}]`,
});

/**
 * A request that changes neither spec nor annotations cannot introduce a problem. An Ingress that is being deleted may be held by
 * a finalizer, and is served until it is gone, so it is checked as every other.
 */
const isSame = (object: KubeObject, old: KubeObject | null | undefined): boolean =>
  !!old &&
  isDeepStrictEqual(object.spec, old.spec) &&
  isDeepStrictEqual(object.metadata.annotations, old.metadata.annotations);

/** An Ingress that was stored before there was a limit can still be changed, but not made larger. */
function tooLarge(excess: string, object: Ingress, old: Ingress | null | undefined): AdmissionResult {
  const before = sizeOf(old ?? {});
  const message = `${excess}: split it into several Ingresses`;
  return excessOf(before) === undefined || sizeOf(object).entries > before.entries
    ? { problems: [{ path: 'spec', message }] }
    : { warnings: [`spec: ${message}. It was not checked`] };
}

async function problemsOf(
  ingress: Ingress,
  sources: IngressSources,
  now: number,
  turn: Turn,
): Promise<readonly IngressProblem[]> {
  const className = classNameOf(ingress);
  const ingressClass = className === undefined ? undefined : sources.classes.get(className);
  if (className === undefined || ingressClass === undefined || !isOurs(ingressClass, sources)) return [];
  const provisioner = sources.provisioners.forController(ingressClass.spec?.controller ?? '');
  const problems = await problemsIfCreated(ingress, className, sources, {
    now,
    turn,
    ...(provisioner && { provisioner }),
  });
  return problems.filter(({ reason }) => reason !== NOT_CHECKED);
}

/** Does not include the field path, because indexes shift when an entry is inserted. */
const textOf = ({ reason, message }: IngressProblem): string => `${reason} ${message}`;
