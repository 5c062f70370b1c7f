/**
 * The client of a request, and how it has reached the router. By itself, a data plane knows the other end of the
 * connection only, which may be a load balancer. What a load balancer reports about clients counts only if the class trusts
 * its address.
 *
 * `model.ts` has the settings, `entry.ts` puts them into a table, `of-router.ts` reads them from an L7Router, `client-facts.ts` applies them to a request, and `forwarded.ts` reads the header Forwarded.
 */
export { type ClientFacts, type Connection, clientFacts, MOST_PROXIES, withPort } from './client-facts.ts';
export { CLIENTS_ENTRY, clientSettingsOf, clientsEntry } from './entry.ts';
export type { ClientSettings } from './model.ts';
export { clientsOf } from './of-router.ts';
