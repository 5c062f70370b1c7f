import type { Ingress } from './types.ts';

export const ingressWarnings = (_: Ingress, _old: Ingress | undefined): string[] => [];
