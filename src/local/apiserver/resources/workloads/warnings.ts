import type { PodTemplateSpec } from '../pod/types.ts';

export function templateWarnings(
  _template: PodTemplateSpec | undefined,
  _old: PodTemplateSpec | undefined,
): string[] {
  return [];
}
