/**
 * The one place where the parts of the hub are created and connected, from the disk outwards. Each part names what it
 * needs in its options; nothing is looked up or passed on implicitly.
 */
import { type Clock, fixedCredential, type Logger, Metrics, systemClock } from '@tidegate/kube';
import { METRICS_PREFIX } from '../api/index.ts';
import { Access } from './access/index.ts';
import { announceVersion } from './announce-version.ts';
import { DiscoveryCache } from './discovery/index.ts';
import {
  allFilters,
  type ContextViews,
  Filters,
  followConfiguration,
  HubContext,
  openContextViews,
} from './filters/index.ts';
import { type OpenedGroup, type OpenGroupOptions, openGroup } from './group/index.ts';
import { Authenticator } from './identity/index.ts';
import { Journal, Replayer } from './journal/index.ts';
import type { Lifetime } from './lifetime.ts';
import {
  type AdminSource,
  adminHandler,
  Connections,
  Handler,
  Listeners,
  type Ports,
  summarizeJournal,
  summarizeViews,
} from './listeners/index.ts';
import { certificateIssued, openCertificate, openNodeCredentials, openUpstream } from './open.ts';
import type { HubOptions } from './options.ts';
import { type Correction, Projections } from './projections/index.ts';
import {
  AnswerShares,
  type ChainFor,
  decodeBody,
  Forwarding,
  forgetForbidden,
  PrivateReads,
  Reads,
  RecentWrites,
  RequestDispatcher,
  SharedReads,
  WatchShares,
  Writes,
} from './requests/index.ts';
import { type OpenedSite, openSite } from './site/index.ts';
import { openState } from './state.ts';
import { IssuedTokens, keepTokensOfPods, podIsGone } from './tokens/index.ts';
import { Views } from './views/index.ts';

export interface HubHealth {
  ready: boolean;
  /** Why the hub is not ready. */
  reasons: string[];
  /** What does not work although the hub is ready, for example because its disk is full. */
  warnings: string[];
}

export interface RunningHub {
  /** The ports that the hub listens on. */
  readonly ports: Ports;
  /** Resolves when the hub has a serving certificate and can be reached over HTTPS. */
  readonly ready: Promise<void>;
  /**
   * Whether the hub has valid certificates, and if not, which it waits for. An unreachable API server does
   * not make the hub unready.
   */
  health(): HubHealth;
}

/** Resolves when the hub listens. Whatever was opened is registered with `lifetime`, also if this rejects. */
export async function compose(options: HubOptions, lifetime: Lifetime): Promise<RunningHub> {
  const { nodeName, log, clock = systemClock } = options;
  const random = Math.random;
  const metrics = new Metrics({ prefix: METRICS_PREFIX });

  // What the hub keeps on disk. It closes last: tasks and views write until they end.
  const state = await openState(options.stateDirectory, log);
  lifetime.onClose(() => state.close());
  lifetime.onClose(() => lifetime.tasksEnded());
  const { memory } = state;

  // The API servers.
  const nodeCredentials = await openNodeCredentials(options, state, lifetime, clock, log);
  const upstream = await openUpstream(options, state, nodeCredentials.source, metrics, clock, log);
  lifetime.onClose(() => upstream.close());
  const client = upstream.node();
  const online = (): boolean => upstream.online;
  lifetime.run((signal) =>
    announceVersion({ client, nodeName, version: options.version, clock, log }, signal),
  );

  // Authentication.
  const connections = new Connections({ limits: options.connectionLimits, metrics, clock, log });
  lifetime.onClose(() => connections.close());
  const authenticator = await Authenticator.open({
    nodeName,
    client,
    memory,
    online,
    lastContact: () => upstream.lastContact || undefined,
    podIsGone: (claims) => podIsGone(views, nodeName, claims),
    onEnded: (key) => ended(key),
    peerOf: (socket) => connections.peerOf(socket),
    clock,
    log,
  });

  // Copies of what clients read, and what the filters make of them.
  const views = await Views.open({
    map: state.views,
    node: client,
    nodeName,
    client: (source) => upstream.client(source),
    holderOf: (identity) => authenticator.holderOf(identity),
    upstream,
    clock,
    random,
    log,
    metrics,
  });
  lifetime.onClose(() => views.close());
  const contextViews = openContextViews(views);
  lifetime.onClose(() => contextViews.release());
  const context = openContext(options, contextViews, lifetime);
  const filters = new Filters({
    filters: allFilters({ log, metrics }),
    context,
    disabled: options.disabledFilters,
  });
  let group: OpenedGroup | undefined;
  const opened = openSite({
    ...{ nodeName, views, upstream, clock },
    services: contextViews.services.view,
    isWaiting: () => journal.holdsPods(),
    others: {
      inForce: () => group?.inForce() === true,
      isMember: (node) => group?.isMember(node) === true,
      reportsOf: (node) => group?.reportsOf(node),
    },
    onReports: () => group?.reportsChanged(),
    onForce: () => group?.forceChanged(),
  });
  lifetime.onClose(() => opened.close());
  const { site } = opened;
  const projections = openProjections(filters, context, contextViews, site, lifetime, clock, log);

  // Authorization.
  const access = await Access.open({
    client: upstream.client(fixedCredential({})),
    memory,
    tokens: authenticator,
    online,
    clock,
    log,
  });

  const ended = (key: string): void => {
    access.forget(key);
    views
      .dropIdentity(key)
      .catch((err) => log.error({ err }, 'cannot delete the copies of a rejected token'));
  };

  // What replaces the API server while it is unreachable.
  const discovery = await DiscoveryCache.open({ upstream, map: memory, tokens: authenticator, clock, log });
  const journal = await Journal.open(state.journal, { nodeName, decode: decodeBody, log, metrics, clock });
  // Views are written to disk in batches. A hub that was killed may have acknowledged writes that its views lack.
  for await (const { resource, object } of journal.states()) await views.overlay('node', resource, object);
  opened.start();
  const replayer = new Replayer({ journal, client, upstream, clock, random, log });
  const tokens = await IssuedTokens.open(state.tokens, { clock });

  // The path of a request.
  const chainFor: ChainFor = ({ component, info }) => filters.chainFor(component, info, info.verb);
  const recentWrites = new RecentWrites(clock);
  const watches = new WatchShares((identity) => authenticator.holderOf(identity));
  const forwarding = new Forwarding(
    upstream,
    {
      unauthorized: (identity) => authenticator.suspect(identity),
      forbidden: (call) => forgetForbidden(call, { views, access }),
    },
    new AnswerShares((identity) => authenticator.holderOf(identity)),
  );
  const sharedReads = new SharedReads({
    views,
    contextViews,
    projections,
    access,
    recentWrites,
    watches,
    chainFor,
    isCorrected: (resource) => site.corrects(resource),
    upstream,
    clock,
  });
  const privateReads = new PrivateReads({
    views,
    projections,
    forwarding,
    access,
    watches,
    chainFor,
    upstream,
    clock,
  });
  const prove = authenticator.prove.bind(authenticator);
  const reads = new Reads({ sharedReads, privateReads, forwarding, chainFor, upstream, prove });
  const writes = new Writes({
    forwarding,
    views,
    journal,
    tokens,
    recentWrites,
    chainFor,
    pods: opened.own,
    nodeName,
    upstream,
    replaySoon: () => replayer.soon(),
  });
  const dispatcher = new RequestDispatcher({ reads, writes, discovery, forwarding, chainFor, upstream });
  const handler = new Handler({
    ...{ authenticator, connections, dispatcher, upstream, metrics, log },
    signal: lifetime.signal,
  });

  // The listeners.
  const certificate = await openCertificate(options, upstream, lifetime, clock, log);
  group = openGroupOf(options, opened, {
    ...{ client, upstream, memory, certificate, clock, metrics, log },
    members: () => context.membership.neighborsOf(nodeName),
    services: contextViews.services.view,
    credentials: nodeCredentials.source,
  });
  lifetime.onClose(context.subscribe((changed) => namesNode(changed) && group?.membersChanged()));
  const health: RunningHub['health'] = () => {
    const reasons = [nodeCredentials.waitingFor(), certificate.waitingFor].flatMap((reason) => reason ?? []);
    return { ready: reasons.length === 0, reasons, warnings: state.warnings() };
  };
  const details: AdminSource = {
    health,
    metrics,
    views: () => views.describe().map((view) => ({ ...view })),
    filters: () => filters.describe(),
    journal: () => journal.entries().map((entry) => ({ ...entry })),
    upstreams: () =>
      upstream.servers().map((server) => ({ ...server, since: new Date(server.since).toISOString() })),
  };
  const summary: AdminSource = {
    ...details,
    views: () => summarizeViews(views.describe()),
    journal: () => summarizeJournal(journal.entries()),
  };
  const { bindAddress, hubAddress, httpPort, httpsPort, adminPort, socket, clientCa } = options;
  // The last part to open, so that a client that can connect finds everything in place.
  const listeners = await Listeners.open(
    {
      ...{ bindAddress, hubAddress, httpPort, httpsPort, adminPort, socket },
      adminSocket: adminSocketOf(socket),
      ...{ certificate, clientCa, connections, clock, log },
    },
    {
      request: (request, response, entrance) => void handler.handle(request, response, entrance),
      upgrade: (request, duplex, head, entrance) => void handler.upgrade(request, duplex, head, entrance),
      admin: adminHandler(summary, log),
      adminDetails: adminHandler(details, log),
    },
  );
  lifetime.onClose(() => listeners.close());

  // Background tasks.
  lifetime.run((signal) => authenticator.run(signal));
  lifetime.run((signal) => discovery.run(signal));
  lifetime.run((signal) => replayer.run(signal));
  lifetime.run((signal) => certificate.run(signal));
  lifetime.run(async (signal) => group?.run(signal));
  lifetime.run((signal) => keepTokensOfPods(tokens, views, nodeName, clock, signal));
  return { ports: listeners.ports, health, ready: certificateIssued(certificate) };
}

function openContext(
  { nodeName, hubAddress, httpsPort }: HubOptions,
  { services, nodePools, nodeGroups }: ContextViews,
  lifetime: Lifetime,
): HubContext {
  const context = new HubContext({
    nodeName,
    hub: { host: hubAddress, port: httpsPort },
    services: services.view,
    nodePools: nodePools.view,
    nodeGroups: nodeGroups.view,
  });
  lifetime.onClose(() => context.close());
  return context;
}

/** Projections change with the objects that filters look up, and with the configuration of the filters. */
function openProjections(
  filters: Filters,
  context: HubContext,
  { services, nodePools, nodeGroups, configuration }: ContextViews,
  correction: Correction,
  lifetime: Lifetime,
  clock: Clock,
  log: Logger,
): Projections {
  const projections = new Projections({
    clock,
    context,
    correction,
    causes: [services.view, nodePools.view, nodeGroups.view],
    onFault: (key, err) => log.error({ err, key }, 'cannot filter an object; withholding it from clients'),
  });
  lifetime.onClose(() => projections.close());
  lifetime.onClose(followConfiguration(configuration.view, filters, log));
  lifetime.onClose(filters.subscribe((cause) => projections.reconfigured(cause)));
  return projections;
}

/** Undefined if the hub is to work alone. */
function openGroupOf(
  { nodeName, groupPort, groupTimings, clientCa, config }: HubOptions,
  site: OpenedSite,
  parts: Omit<OpenGroupOptions, 'nodeName' | 'port' | 'clientCa' | 'servingCas' | 'timings'>,
): OpenedGroup | undefined {
  if (groupPort === undefined) return undefined;
  const servingCas = [clientCa, config.ca].flatMap((ca) => ca ?? []);
  const options = { ...parts, nodeName, port: groupPort, clientCa, servingCas, timings: groupTimings };
  return openGroup(options, site);
}

const namesNode = (dependencies: ReadonlySet<string>): boolean =>
  [...dependencies].some((dependency) => dependency.startsWith('node:'));

/** Several hubs of one machine may have their sockets in one directory, so the name contains that of the socket. */
const adminSocketOf = (socket: string): string => `${socket.replace(/\.sock$/, '')}-admin.sock`;
