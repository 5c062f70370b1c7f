import { type Cache, INGRESSES, type IngressClass } from '@tidegate/kube';
import { DEFAULT_CLASS_ANNOTATION, INGRESS_CLASS_ANNOTATION } from '../../api/index.ts';
import type { AdmissionResult } from '../review.ts';
import type { AdmissionRule } from '../rule.ts';

/** The webhook is called only for Ingresses that do not name a class. */
const CLASS_IS_MISSING = {
  name: 'class-is-missing',
  expression:
    '!(has(object.spec) && has(object.spec.ingressClassName)) && ' +
    `!(has(object.metadata.annotations) && ${JSON.stringify(INGRESS_CLASS_ANNOTATION)} in object.metadata.annotations)`,
};

/**
 * Sets the default class on an Ingress that does not name one. API servers do this themselves if their admission
 * plugin DefaultIngressClass is enabled; this rule serves the clusters where it is not.
 */
export const defaultIngressClassRule = (classes: Pick<Cache<IngressClass>, 'list'>): AdmissionRule => ({
  group: INGRESSES.group,
  versions: [INGRESSES.version],
  resource: INGRESSES.resource,
  scope: 'Namespaced',
  operations: ['CREATE'],
  // An Ingress without a class can be corrected later. Rejecting all Ingresses would be worse.
  failurePolicy: 'Ignore',
  mutates: true,
  matchConditions: () => [CLASS_IS_MISSING],
  evaluate({ object }): AdmissionResult {
    const spec = object?.spec as { ingressClassName?: string } | undefined;
    if (spec === undefined || spec.ingressClassName !== undefined) return {};
    if (object?.metadata.annotations?.[INGRESS_CLASS_ANNOTATION] !== undefined) return {};
    const name = newestDefault(classes.list());
    if (name === undefined) return {};
    return { patch: [{ op: 'add', path: '/spec/ingressClassName', value: name }] };
  },
});

/** Chooses as API servers do: the newest default class, and the first by name among classes of the same age. */
function newestDefault(classes: readonly IngressClass[]): string | undefined {
  const defaults = classes
    .filter(({ metadata }) => metadata.annotations?.[DEFAULT_CLASS_ANNOTATION] === 'true')
    .map(({ metadata }) => ({
      name: `${metadata.name}`,
      created: Date.parse(metadata.creationTimestamp ?? ''),
    }));
  defaults.sort((a, b) => b.created - a.created || (a.name < b.name ? -1 : 1));
  return defaults[0]?.name;
}
