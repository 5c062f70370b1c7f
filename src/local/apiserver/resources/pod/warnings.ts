import type { Pod } from './types.ts';

export function podWarnings(_pod: Pod, _old: Pod | undefined): string[] {
  return [];
}
