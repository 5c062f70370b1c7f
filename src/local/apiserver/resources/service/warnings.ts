import type { Service } from './types.ts';

export function serviceWarnings(_service: Service, _old: Service | undefined): string[] {
  return [];
}
