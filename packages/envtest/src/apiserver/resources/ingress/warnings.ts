import { CLASS_ANNOTATION, type Ingress } from './types.ts';

export function ingressWarnings({ metadata, spec }: Ingress, old: Ingress | undefined): string[] {
  const annotated = metadata.annotations?.[CLASS_ANNOTATION] !== undefined;
  if (old !== undefined || !annotated || spec.ingressClassName !== undefined) return [];
  return [`annotation "${CLASS_ANNOTATION}" is deprecated, please use 'spec.ingressClassName' instead`];
}
