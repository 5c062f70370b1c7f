import { type Cache, INGRESSES, type IngressClass } from '@tidegate/kube';
import { DEFAULT_CLASS_ANNOTATION, INGRESS_CLASS_ANNOTATION } from '../../api/index.ts';
import type { Verdict } from '../review.ts';
import type { AdmissionRule } from '../rule.ts';

/** Who names a class never waits for us. */
const NO_CLASS_IS_SAID = {
  name: 'no-class-is-said',
  expression:
    '!(has(object.spec) && has(object.spec.ingressClassName)) && ' +
    `!(has(object.metadata.annotations) && ${JSON.stringify(INGRESS_CLASS_ANNOTATION)} in object.metadata.annotations)`,
};

/** An Ingress that names no class gets the default one, also in clusters that do not see to it themselves. */
export const defaultIngressClassRule = (classes: Pick<Cache<IngressClass>, 'list'>): AdmissionRule => ({
  group: INGRESSES.group,
  versions: [INGRESSES.version],
  resource: INGRESSES.resource,
  scope: 'Namespaced',
  operations: ['CREATE'],
  // An Ingress without a class is nobody's: that can be mended, a cluster that takes no Ingresses can not.
  failurePolicy: 'Ignore',
  mutates: true,
  matchConditions: () => [NO_CLASS_IS_SAID],
  judge({ object }): Verdict {
    const spec = object?.spec as { ingressClassName?: string } | undefined;
    if (spec === undefined || spec.ingressClassName !== undefined) return {};
    if (object?.metadata.annotations?.[INGRESS_CLASS_ANNOTATION] !== undefined) return {};
    const name = newestDefault(classes.list());
    if (name === undefined) return {};
    return { patch: [{ op: 'add', path: '/spec/ingressClassName', value: name }] };
  },
});

/** As API servers choose: of several the newest, of one age the first by name. */
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
