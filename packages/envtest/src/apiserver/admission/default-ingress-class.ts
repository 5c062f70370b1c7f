/**
 * Sets the default class of an Ingress that has neither the field nor the annotation. The newest default class wins.
 */
import type { KubeObject } from '@tidegate/kube';
import type { Store } from '../store/types.ts';
import type { Plugin } from './plugin.ts';

const IS_DEFAULT = 'ingressclass.kubernetes.io/is-default-class';
const CLASS_ANNOTATION = 'kubernetes.io/ingress.class';

export function defaultIngressClass(store: Store): Plugin {
  return (attributes) => {
    const { operation, subresource, object } = attributes;
    if (operation !== 'CREATE' || subresource !== '' || object === undefined) return;
    if (attributes.served.definition.storage !== 'networking.k8s.io/ingresses') return;
    const spec = (object.spec ?? {}) as { ingressClassName?: string };
    if (spec.ingressClassName !== undefined) return;
    if (object.metadata.annotations?.[CLASS_ANNOTATION] !== undefined) return;
    const name = newestDefault(store);
    if (name !== undefined) object.spec = { ...spec, ingressClassName: name };
  };
}

function newestDefault(store: Store): string | undefined {
  const defaults = store
    .list('networking.k8s.io/ingressclasses')
    .entries.map((entry) => JSON.parse(entry.value.toString()) as KubeObject)
    .filter((ingressClass) => ingressClass.metadata.annotations?.[IS_DEFAULT] === 'true')
    .map(({ metadata }) => ({ name: metadata.name!, created: metadata.creationTimestamp ?? '' }));
  // Names and times are ASCII and all times have the same length, so they can be compared as text.
  defaults.sort((a, b) =>
    a.created === b.created ? (a.name < b.name ? -1 : 1) : a.created > b.created ? -1 : 1,
  );
  return defaults[0]?.name;
}
