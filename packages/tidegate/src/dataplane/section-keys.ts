/**
 * Keys of a route table that several routers share. Each router is a section with a number; its hosts and upstreams have
 * the number as a prefix, so that no section sees those of another. A host name has no colon. `lua/tidegate/sections.lua`
 * uses the same format.
 */
import type { HostName } from '../ingress/model.ts';

export const sectionKey = (section: number, name: string): string => `${section}:${name}`;

/** The name of the entry of a section that has received its routes. Not a valid host, so no request can name it. */
export const RECEIVED = '#';

/** The host name without the number of its section. */
export const hostOfKey = (key: string): HostName => key.slice(key.indexOf(':') + 1);

/** The number of the section with its colon; empty for a table of one router. */
export const prefixOfKey = (key: string): string => key.slice(0, key.indexOf(':') + 1);
