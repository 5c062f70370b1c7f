import type { Ingress } from '@tidegate/kube';
import { INGRESS_CLASS_ANNOTATION } from '../../api/index.ts';

/** The class that an Ingress asks for. The field counts before the annotation; without both it is nobody's. */
export function classNameOf({ spec, metadata }: Ingress): string | undefined {
  const name = spec?.ingressClassName ?? metadata.annotations?.[INGRESS_CLASS_ANNOTATION];
  return name === '' ? undefined : name;
}
