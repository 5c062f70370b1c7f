import type { DurableMap } from '@tidegate/disk';
import {
  type Clock,
  type ConnectionState,
  type CredentialSource,
  type KubeClient,
  type Logger,
  type Metrics,
  sleep,
} from '@tidegate/kube';
import type { CertificateSource } from '../certificates/index.ts';
import type { OpenedSite, OtherNodes } from '../site/index.ts';
import type { View } from '../views/index.ts';
import { Feed } from './feed.ts';
import { GROUP_TIMINGS, Group, type GroupTimings } from './group.ts';
import { GroupServer } from './group-server.ts';
import { NodeAddresses } from './node-addresses.ts';
import { Selections } from './selections.ts';

export interface OpenGroupOptions {
  nodeName: string;
  /** The port of all hubs of the pool, at the address of their node. */
  port: number;
  /** The other nodes of the pool, at the moment. */
  members(): readonly string[];
  services: View;
  client: Pick<KubeClient, 'get'>;
  upstream: ConnectionState;
  memory: Pick<DurableMap, 'get' | 'put'>;
  credentials: CredentialSource;
  certificate: Pick<CertificateSource, 'current' | 'onChange'>;
  /** The CA of the client certificates of nodes. */
  clientCa: string;
  /** The CAs of the serving certificates of nodes. */
  servingCas: readonly string[];
  timings?: GroupTimings | undefined;
  clock: Clock;
  metrics: Metrics;
  log: Logger;
}

/** What the rest of the hub calls. */
export interface OpenedGroup extends OtherNodes {
  /** Pools have changed. */
  membersChanged(): void;
  /** Reports of this node have changed. */
  reportsChanged(): void;
  /** Reports of this node count from now on, or do not any more. */
  forceChanged(): void;
  /** Serves the other hubs until the signal is aborted. */
  run(signal: AbortSignal): Promise<void>;
}

const RETRY_MS = 30_000;

/** Connects the parts of this folder. */
export function openGroup(options: OpenGroupOptions, { site, own, inForce }: OpenedSite): OpenedGroup {
  const { nodeName, port, services, clock, log, certificate, clientCa, timings = GROUP_TIMINGS } = options;
  const addresses = new NodeAddresses(options);
  const group = new Group({
    ...{ port, addresses, timings, clock, log },
    members: options.members,
    credentials: options.credentials,
    ca: options.servingCas,
    isCut: inForce,
    onChange: (node) => site.nodeChanged(node),
    metrics: options.metrics,
  });
  const selections = new Selections(services, () => feed.changed());
  const feed = new Feed(own, inForce, selections, clock);
  const server = new GroupServer({
    ...{ certificate, clientCa, feed, clock, log },
    isMember: (node) => group.isMember(node),
    beatMs: timings.beatMs,
  });

  /** Listens at the address of the node, as soon as the pool has other nodes, and the address is known and free. */
  async function listen(signal: AbortSignal): Promise<void> {
    for (let listens = false; !signal.aborted && !listens; ) {
      const address = group.size === 0 ? undefined : await addresses.find(nodeName, signal);
      listens = address !== undefined && !signal.aborted && (await listenAt(address));
      const waitMs = address === undefined ? timings.retryMs : RETRY_MS;
      if (!listens) await sleep(clock, waitMs, signal).catch(() => {}); // Rejects when aborted.
    }
  }

  async function listenAt(address: string): Promise<boolean> {
    try {
      await server.listen(address, port);
      log.info({ address, port }, 'serving the other hubs of the pool');
      return true;
    } catch (err) {
      const seconds = RETRY_MS / 1000;
      log.error(
        { err, address, port },
        `cannot serve the other hubs of the pool; retrying in ${seconds} s (choose another port with --group-port)`,
      );
      return false;
    }
  }

  return {
    inForce: () => group.inForce(),
    isMember: (node) => group.isMember(node),
    reportsOf: (node) => group.reportsOf(node),
    membersChanged: () => {
      if (!group.membersChanged()) return;
      server.membersChanged();
      site.nodesChanged();
    },
    reportsChanged: () => feed.changed(),
    forceChanged: () => {
      group.cutChanged();
      feed.changed();
    },
    run: async (signal) => {
      group.start();
      await listen(signal);
      if (!signal.aborted)
        await new Promise<void>((resolve) =>
          signal.addEventListener('abort', () => resolve(), { once: true }),
        );
      selections.close();
      feed.close();
      await Promise.all([group.close(), server.close()]);
    },
  };
}
