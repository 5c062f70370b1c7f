/**
 * What the route model means: the reference that every data plane agrees with. Pure.
 *
 * One request: the host as it came -> `requestHost` -> the exact host of the table, else its wildcard -> its routes in
 * order, the first whose path and headers match -> its fallback -> the same with the table of all hosts -> not found.
 */
export * from './host.ts';
export * from './match.ts';
export * from './path.ts';
export * from './table.ts';
