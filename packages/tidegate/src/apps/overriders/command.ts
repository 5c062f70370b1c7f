import { overrideStringList } from './string-list.ts';

/** Changes `command` of one container. */
export const overrideCommand = overrideStringList('command');
