import { overrideStringList } from './string-list.ts';

/** Changes `args` of one container. */
export const overrideArgs = overrideStringList('args');
