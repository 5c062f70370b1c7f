import type { HostRoutes } from '../model.ts';
import type { ClientSettings } from './model.ts';

/**
 * The entry of a table that has the settings. It is not a valid host, so no request can name it. As an entry, it reaches data
 * planes, sections of shared pods and the table on disk with the routes.
 */
export const CLIENTS_ENTRY = '#clients';

export const clientsEntry = (clients: ClientSettings): HostRoutes => ({
  host: CLIENTS_ENTRY,
  namespace: '',
  routes: [],
  clients,
});

/** The settings in a table. */
export const clientSettingsOf = ({
  hosts,
}: {
  hosts: { get(host: string): HostRoutes | undefined };
}): ClientSettings | undefined => hosts.get(CLIENTS_ENTRY)?.clients;
