import type { PodSpec } from './types.ts';

export const specDiff = (_old: PodSpec, _spec: PodSpec): string => '';
