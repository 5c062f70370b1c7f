import type { Ingress } from '@tidegate/kube';
import { INGRESS_CLASS_ANNOTATION } from '../../api/index.ts';

/** The class of an Ingress. The field wins over the deprecated annotation. Undefined if both are absent. */
export function classNameOf({ spec, metadata }: Ingress): string | undefined {
  const name = spec?.ingressClassName ?? metadata.annotations?.[INGRESS_CLASS_ANNOTATION];
  return name === '' ? undefined : name;
}
