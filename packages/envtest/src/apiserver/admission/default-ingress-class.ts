/**
 * Sets the default class of an Ingress that has neither the field nor the annotation. The newest default class wins.
 */
import type { Store } from '../store/types.ts';
import { newestMarked } from './newest-default.ts';
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
    const name = newestMarked(store, 'networking.k8s.io/ingressclasses', IS_DEFAULT);
    if (name !== undefined) object.spec = { ...spec, ingressClassName: name };
  };
}
