import type { Hello } from '@tidegate/console/wire';
import { type KubeClient, systemClock } from '@tidegate/kube';
import type { StateDirectory } from '../supervisor/index.ts';
import { apiOf, eventsHandler } from './api.ts';
import { Feed } from './feed.ts';
import { watchLinks } from './link-watch.ts';
import { ConsoleServer } from './server.ts';

export interface ConsoleOptions {
  client: KubeClient;
  version: string;
  /** 0 selects a free port. */
  port: number;
  /** The folder with the files of the pages. */
  folder: string;
  /** The state directory of an embedded cluster. Undefined for any other cluster. */
  state?: StateDirectory;
}

/** Serves the console until the signal is aborted. */
export async function runConsole(
  options: ConsoleOptions,
  signal: AbortSignal,
  onListening: (address: string) => void,
): Promise<void> {
  const { client, version, port, folder, state } = options;
  const feed = new Feed(client);
  const hello: Hello = { version, server: client.config.server, embedded: state?.path };
  const server = await ConsoleServer.listen(
    port,
    folder,
    apiOf({ 'GET events': eventsHandler(feed, hello) }),
  );
  try {
    onListening(server.address);
    await Promise.all([
      feed.run(signal),
      ...(state === undefined ? [] : [watchLinks(state, feed, systemClock, signal)]),
    ]);
  } finally {
    await server.close();
  }
}
