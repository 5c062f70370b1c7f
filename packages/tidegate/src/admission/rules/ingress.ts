import { isDeepStrictEqual } from 'node:util';
import {
  type Cache,
  INGRESSES,
  type Ingress,
  type IngressClass,
  isBeingDeleted,
  type KubeObject,
} from '@tidegate/kube';
import { INGRESS_CLASS_ANNOTATION, INGRESS_CONTROLLER_PREFIX } from '../../api/index.ts';
import { classNameOf, type IngressProblem } from '../../ingress/compile/index.ts';
import type { Verdict } from '../review.ts';
import type { AdmissionRule, MatchCondition } from '../rule.ts';
import { type Neighbourhood, problemsOfNewcomer } from './ingress-newcomer.ts';

/** What can not be meant. The rest may come in any order, and is told while it is missing. */
const REFUSED: ReadonlySet<IngressProblem['reason']> = new Set([
  'HostConflict',
  'PathConflict',
  'InvalidHost',
  'InvalidPath',
  'UnknownAnnotation',
  'InvalidAnnotation',
  'InvalidCertificate',
] as const);

/** Nobody looks at endpoints here. */
const NOT_SEEN_HERE: IngressProblem['reason'] = 'NoEndpoints';

export interface IngressSources extends Neighbourhood {
  readonly classes: Pick<Cache<IngressClass>, 'get' | 'list'>;
}

/**
 * Ingresses of the classes that are ours, in the words in which routers understand them. It runs where the API server
 * is: whatever becomes of a pool, nobody waits for it.
 */
export const ingressRule = (sources: IngressSources, now: () => number): AdmissionRule => ({
  group: INGRESSES.group,
  versions: [INGRESSES.version],
  resource: INGRESSES.resource,
  scope: 'Namespaced',
  operations: ['CREATE', 'UPDATE'],
  // Routers bear what is wrong with an Ingress; this only tells it sooner.
  failurePolicy: 'Ignore',
  matchConditions: () => [classIsOneOf(sources.classes.list().filter(isOurs))],
  judge({ object, oldObject, namespace, name }): Verdict {
    if (!object || isBeingDeleted(object) || isSame(object, oldObject)) return {};
    // With generateName the server has not chosen a name yet.
    const named = (each: Ingress): Ingress => ({ ...each, metadata: { ...each.metadata, namespace, name } });
    const problems = problemsOf(named(object as Ingress), sources, now());
    const before = oldObject ? problemsOf(named(oldObject as Ingress), sources, now()) : [];
    const old = new Set(before.map(textOf));
    const isNew = (problem: IngressProblem): boolean => !old.has(textOf(problem));
    return {
      problems: problems
        .filter((problem) => REFUSED.has(problem.reason) && isNew(problem))
        .map(({ field, message }) => ({ path: field, message })),
      // What is refused for being new was let in once if it is old.
      warnings: problems
        .filter((problem) => !REFUSED.has(problem.reason) || !isNew(problem))
        .map(({ field, message }) => `${field}: ${message}`),
    };
  },
});

const isOurs = ({ spec }: IngressClass): boolean =>
  spec?.controller?.startsWith(INGRESS_CONTROLLER_PREFIX) ?? false;

const ANNOTATION = JSON.stringify(INGRESS_CLASS_ANNOTATION);
/** In the words of `classNameOf`. */
const CLASS_NAME =
  'has(object.spec) && has(object.spec.ingressClassName) ? object.spec.ingressClassName : ' +
  `has(object.metadata.annotations) && ${ANNOTATION} in object.metadata.annotations ? object.metadata.annotations[${ANNOTATION}] : ""`;

/** Ingresses of other classes are never asked about, so that they never wait for us. */
const classIsOneOf = (classes: readonly IngressClass[]): MatchCondition => ({
  name: 'class-is-ours',
  expression: `(${CLASS_NAME}) in [${classes.map(({ metadata }) => JSON.stringify(metadata.name)).toSorted()}]`,
});

/** Who changes neither spec nor annotations has nothing to do with what may be wrong there. */
const isSame = (object: KubeObject, old: KubeObject | null | undefined): boolean =>
  !!old &&
  isDeepStrictEqual(object.spec, old.spec) &&
  isDeepStrictEqual(object.metadata.annotations, old.metadata.annotations);

function problemsOf(ingress: Ingress, sources: IngressSources, now: number): readonly IngressProblem[] {
  const className = classNameOf(ingress);
  const ingressClass = className === undefined ? undefined : sources.classes.get(className);
  if (className === undefined || ingressClass === undefined || !isOurs(ingressClass)) return [];
  return problemsOfNewcomer(ingress, className, sources, now).filter(
    ({ reason }) => reason !== NOT_SEEN_HERE,
  );
}

/** Fields move when something is put before them. */
const textOf = ({ reason, message }: IngressProblem): string => `${reason} ${message}`;
