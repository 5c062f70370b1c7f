import { isDeepStrictEqual } from 'node:util';
import { INGRESS_CLASSES, type IngressClass } from '@tidegate/kube';
import {
  CLASS_PARAMETERS_ANNOTATION,
  INGRESS_CLASS_PARAMETERS,
  type IngressClassParameters,
} from '../../api/index.ts';
import { annotatedParameters, type ParametersReference, referenceOf } from '../../ingress/classes/index.ts';
import {
  COMMON_PARAMETERS,
  checkParameters,
  type Parameters,
  type ProvisionerRegistry,
  sizeProblem,
} from '../../ingress/provisioners/index.ts';
import type { AdmissionResult, FieldProblem } from '../review.ts';
import type { AdmissionRule } from '../rule.ts';

/** What the rules about parameters read. */
export interface ParameterSources {
  readonly classes: { list(): readonly IngressClass[] };
  readonly provisioners: Pick<ProvisionerRegistry, 'forController'>;
  /** The object that a class refers to. Undefined if it does not exist, or is a ConfigMap, which is checked later. */
  parametersOf(reference: ParametersReference): IngressClassParameters | undefined;
}

/**
 * Limits the total size of the parameters, which the schema cannot do, and checks them for every class that refers to them.
 * Without a class, their meaning is not known yet: then the class is checked when it is written.
 */
export const ingressClassParametersRule = (sources: ParameterSources): AdmissionRule => ({
  group: INGRESS_CLASS_PARAMETERS.group,
  versions: [INGRESS_CLASS_PARAMETERS.version],
  resource: INGRESS_CLASS_PARAMETERS.resource,
  scope: 'Namespaced',
  operations: ['CREATE', 'UPDATE'],
  // The manager ignores classes with invalid parameters. The webhook only reports problems earlier.
  failurePolicy: 'Ignore',
  evaluate({ object, oldObject, namespace, name }): AdmissionResult {
    if (isDeepStrictEqual(object?.parameters, oldObject?.parameters)) return {};
    const parameters = (object?.parameters ?? {}) as Parameters;
    const size = sizeProblem(parameters);
    if (size !== undefined) return { problems: [{ path: 'parameters', message: size }] };
    const users = sources.classes.list().filter((each) => {
      const reference = referenceOf(each);
      return (
        reference !== undefined &&
        !('reason' in reference) &&
        reference.kind === 'IngressClassParameters' &&
        reference.namespace === namespace &&
        reference.name === name
      );
    });
    const problems = users.flatMap((each) =>
      problemsFor(each, parameters, sources).map(({ key, message }) => ({
        path: `parameters[${key}]`,
        message: `${message} (IngressClass ${each.metadata.name})`,
      })),
    );
    return { problems: uniqueByPath(problems) };
  },
});

/** Checks the parameters that a class refers to with the schema of its provisioner. */
export const ingressClassRule = (sources: ParameterSources): AdmissionRule => ({
  group: INGRESS_CLASSES.group,
  versions: [INGRESS_CLASSES.version],
  resource: INGRESS_CLASSES.resource,
  scope: 'Cluster',
  operations: ['CREATE', 'UPDATE'],
  failurePolicy: 'Ignore',
  evaluate({ object, oldObject }): AdmissionResult {
    const ingressClass = object as IngressClass;
    const annotationOf = (each: typeof object): string | undefined =>
      each?.metadata.annotations?.[CLASS_PARAMETERS_ANNOTATION];
    if (
      isDeepStrictEqual(ingressClass?.spec, oldObject?.spec) &&
      annotationOf(object) === annotationOf(oldObject)
    )
      return {};
    const reference = referenceOf(ingressClass);
    if (reference === undefined) return { problems: annotationProblems(ingressClass, sources) };
    if ('reason' in reference) return {};
    const found = sources.parametersOf(reference);
    if (found === undefined) return {};
    const { namespace, name } = reference;
    return {
      problems: problemsFor(ingressClass, found.parameters ?? {}, sources).map(({ key, message }) => ({
        path: 'spec.parameters',
        message: `${reference.kind} ${namespace}/${name}: ${key}: ${message}`,
      })),
    };
  },
});

/** The parameters of a class that has them in an annotation. */
function annotationProblems(ingressClass: IngressClass, sources: ParameterSources): FieldProblem[] {
  const path = `metadata.annotations[${CLASS_PARAMETERS_ANNOTATION}]`;
  if (sources.provisioners.forController(ingressClass.spec?.controller ?? '') === undefined) return [];
  const parameters = annotatedParameters(ingressClass);
  if ('reason' in parameters) return [{ path, message: parameters.message }];
  const size = sizeProblem(parameters.values);
  if (size !== undefined) return [{ path, message: size }];
  return problemsFor(ingressClass, parameters.values, sources).map(({ key, message }) => ({
    path,
    message: `${key}: ${message}`,
  }));
}

function problemsFor({ spec }: IngressClass, parameters: Parameters, { provisioners }: ParameterSources) {
  const profile = provisioners.forController(spec?.controller ?? '');
  return profile === undefined ? [] : checkParameters(parameters, profile, COMMON_PARAMETERS).problems;
}

/** Several classes can have the same provisioner. */
const uniqueByPath = (problems: readonly FieldProblem[]): FieldProblem[] => [
  ...new Map(problems.toReversed().map((problem) => [problem.path, problem])).values(),
];
