import { CHANGES } from './changes.ts';
import { KILLS } from './kills.ts';
import { LINKS } from './links.ts';
import { ROUTES } from './routes.ts';

export { mendAll } from './links.ts';
export type { Operation } from './operation.ts';

/** As likely as each other, however many operations there are of each. */
export const SORTS = [KILLS, LINKS, CHANGES, ROUTES];
