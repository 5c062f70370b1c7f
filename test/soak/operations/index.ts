/**
 * The operations of the soak test, in four groups: kills, links, changes and routes. Each operation does one thing
 * to the cluster, records the intended state in the `World`, and gives an excuse for the failures that it may cause.
 */
import { CHANGES } from './changes.ts';
import { KILLS } from './kills.ts';
import { LINKS } from './links.ts';
import { ROUTES } from './routes.ts';

export { mendAll } from './links.ts';
export type { Operation } from './operation.ts';

/** All groups are equally likely, however many operations they have. */
export const OPERATION_GROUPS = [KILLS, LINKS, CHANGES, ROUTES];
