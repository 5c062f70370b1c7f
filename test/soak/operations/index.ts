import { CHANGES } from './changes.ts';
import { KILLS } from './kills.ts';
import { LINKS } from './links.ts';
import { ROUTES } from './routes.ts';

export { mendAll } from './links.ts';
export type { Operation } from './operation.ts';

export const OPERATIONS = { ...KILLS, ...LINKS, ...CHANGES, ...ROUTES };
