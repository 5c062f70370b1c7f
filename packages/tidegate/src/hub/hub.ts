import { setMaxListeners } from 'node:events';
import { join } from 'node:path';
import {
  type Clock,
  type CredentialSource,
  fixedCredential,
  KubeClient,
  type Logger,
  Metrics,
  systemClock,
} from '@tidegate/kube';
import { adminHandler } from './admin/index.ts';
import { CertificateFiles } from './certificates/certificate-files.ts';
import { ClientCredentials } from './certificates/client-credentials.ts';
import { openServingCertificate } from './certificates/serving-certificate.ts';
import type { CertificateSource } from './certificates/source.ts';
import { type ContextViews, openContextViews } from './context-views.ts';
import { DiscoveryCache } from './discovery/index.ts';
import { allFilters, Filters, followConfiguration, HubContext } from './filters/index.ts';
import { Access } from './identity/access.ts';
import { Authenticator } from './identity/authenticator.ts';
import { Journal } from './journal/index.ts';
import { Listeners, type Ports } from './listeners/listeners.ts';
import type { HubOptions } from './options.ts';
import { Replayer } from './replay.ts';
import { type HubState, openState } from './state.ts';
import { keepTokensOfPods } from './token-upkeep.ts';
import { IssuedTokens } from './tokens/index.ts';
import { decodeBody, openTraffic } from './traffic/index.ts';
import { Upstream } from './upstream/index.ts';
import { Projections } from './views/projection/index.ts';
import { Views } from './views/views.ts';

export interface Hub {
  /** Where it listens. */
  readonly ports: Ports;
  /** Resolves when it can be reached by https too, that is when its certificate is there. */
  readonly ready: Promise<void>;
  health(): { ready: boolean; reasons: string[] };
  close(): Promise<void>;
}

const LAST_CONTACT = 'last-contact';

/**
 * Opens everything from the disk outwards: what is kept, the way to the API servers, views, filters, who may do what,
 * and at last the listeners. Resolves when they listen, whether or not an API server can be reached.
 */
export async function startHub(options: HubOptions): Promise<Hub> {
  const { log, clock = systemClock } = options;
  const closers: (() => Promise<void> | void)[] = [];
  const close = async (): Promise<void> => {
    for (const closer of closers.splice(0).reverse()) await closer();
  };
  try {
    return { ...(await open(options, log, clock, (closer) => closers.push(closer))), close };
  } catch (error) {
    await close();
    throw error;
  }
}

type OnClose = (closer: () => Promise<void> | void) => void;

async function open(
  options: HubOptions,
  log: Logger,
  clock: Clock,
  onClose: OnClose,
): Promise<Omit<Hub, 'close'>> {
  const { nodeName } = options;
  const random = Math.random;
  const stop = new AbortController();
  setMaxListeners(0, stop.signal);
  const metrics = new Metrics();
  const state = await openState(options.stateDirectory, log);
  onClose(() => state.close());
  const running: Promise<void>[] = [];
  onClose(() => Promise.all(running).then(() => {}));

  const { credentials, waitingFor } = await nodeCredentials(options, state, clock, log, (run) =>
    running.push(run(stop.signal)),
  );
  const upstream = await openUpstream(options, state, credentials, metrics, clock);
  onClose(() => upstream.close());
  const client = upstream.node();
  const online = (): boolean => upstream.online;

  const views = await Views.open({
    map: state.views,
    node: client,
    nodeName,
    client: (source) => upstream.client(source),
    link: upstream,
    clock,
    random,
    log,
    metrics,
  });
  onClose(() => views.close());
  const contextViews = openContextViews(views);
  onClose(() => contextViews.release());
  const { filters, projections } = openFilters(options, contextViews, { clock, log, metrics }, onClose);

  const memory = state.memory;
  const lastContact = (): number | undefined => upstream.lastContact || undefined;
  const authenticator = await Authenticator.open({
    nodeName,
    client,
    memory,
    online,
    lastContact,
    clock,
    log,
  });
  const access = await Access.open({
    client: upstream.client(fixedCredential({})),
    memory,
    tokens: authenticator,
    online,
    clock,
    log,
  });
  const discovery = await DiscoveryCache.open({ upstream, map: memory, tokens: authenticator, clock, log });
  const journal = await Journal.open(state.journal, { nodeName, decode: decodeBody, log, metrics, clock });
  // A hub that was killed has answered what its views, which are written in batches, do not have.
  for await (const { resource, object } of journal.states()) await views.overlay('node', resource, object);
  const tokens = await IssuedTokens.open(state.tokens, { clock });
  const replayer = new Replayer({ journal, client, link: upstream, clock, random, log });

  const handler = openTraffic({
    nodeName,
    upstream,
    views,
    contextViews,
    filters,
    projections,
    authenticator,
    access,
    discovery,
    journal,
    tokens,
    replaySoon: () => replayer.soon(),
    metrics,
    clock,
    log,
    signal: stop.signal,
  });

  const certificate = await servingCertificate(options, upstream, clock, log, onClose);
  const health = (): { ready: boolean; reasons: string[] } => {
    const reasons = [waitingFor(), certificate.waitingFor].flatMap((reason) => reason ?? []);
    return { ready: reasons.length === 0, reasons };
  };
  const listeners = await Listeners.open(
    { ...options, certificate, clock, log },
    {
      request: (request, response, entrance) => void handler.handle(request, response, entrance),
      upgrade: (request, socket, head, entrance) => void handler.upgrade(request, socket, head, entrance),
      admin: adminHandler(
        {
          health,
          metrics,
          views: () => views.describe().map((view) => ({ ...view })),
          filters: () => filters.describe(),
          journal: () => journal.entries().map((entry) => ({ ...entry })),
          upstreams: () =>
            upstream.servers().map((server) => ({ ...server, since: new Date(server.since).toISOString() })),
        },
        log,
      ),
    },
  );
  onClose(() => listeners.close());
  onClose(() => stop.abort());
  running.push(
    authenticator.run(stop.signal),
    discovery.run(stop.signal),
    replayer.run(stop.signal),
    certificate.run(stop.signal),
    keepTokensOfPods(tokens, views, nodeName, clock, stop.signal),
  );
  return { ports: listeners.ports, health, ready: untilThere(certificate) };
}

async function nodeCredentials(
  { bootstrap, config, nodeName }: HubOptions,
  { directory }: HubState,
  clock: Clock,
  log: Logger,
  onRun: (run: (signal: AbortSignal) => Promise<void>) => void,
): Promise<{ credentials: CredentialSource; waitingFor(): string | undefined }> {
  if (bootstrap === undefined) return { credentials: config.credentials, waitingFor: () => undefined };
  const credentials = await ClientCredentials.open({
    nodeName,
    bootstrap,
    file: join(directory, 'client.pem'),
    connect: (source) => new KubeClient({ ...bootstrap, credentials: source }, { log }),
    clock,
    random: Math.random,
    log,
  });
  onRun((signal) => credentials.run(signal));
  return { credentials, waitingFor: () => credentials.waitingFor };
}

async function openUpstream(
  { servers, lbMode, healthTimings, config, version, log }: HubOptions,
  { memory }: HubState,
  nodeCredentials: CredentialSource,
  metrics: Metrics,
  clock: Clock,
): Promise<Upstream> {
  const { ca, tlsServerName, insecureSkipTlsVerify } = config;
  return Upstream.open({
    servers,
    mode: lbMode,
    ...(healthTimings === undefined ? {} : { timings: healthTimings }),
    ...(ca === undefined ? {} : { ca }),
    ...(tlsServerName === undefined ? {} : { tlsServerName }),
    ...(insecureSkipTlsVerify === undefined ? {} : { insecureSkipTlsVerify }),
    nodeCredentials,
    userAgent: `tidegate-hub/${version}`,
    clock,
    log,
    metrics,
    lastContact: Number((await memory.get(LAST_CONTACT))?.toString() ?? 0),
    onContact: (at) => memory.put(LAST_CONTACT, Buffer.from(String(at))),
  });
}

function openFilters(
  { nodeName, hubAddress, securePort, disabledFilters }: HubOptions,
  { services, nodePools, nodeGroups, configuration }: ContextViews,
  { clock, log, metrics }: { clock: Clock; log: Logger; metrics: Metrics },
  onClose: OnClose,
): { filters: Filters; projections: Projections } {
  const causes = { services: services.view, nodePools: nodePools.view, nodeGroups: nodeGroups.view };
  const context = new HubContext({ nodeName, hub: { host: hubAddress, port: securePort }, ...causes });
  onClose(() => context.close());
  const filters = new Filters({ filters: allFilters({ log, metrics }), context, disabled: disabledFilters });
  const projections = new Projections({
    clock,
    context,
    causes: Object.values(causes),
    onFault: (key, err) => log.error({ err, key }, 'an object can not be filtered, and is withheld'),
  });
  onClose(() => projections.close());
  const unfollow = followConfiguration(configuration.view, filters, log);
  const unsubscribe = filters.subscribe((cause) => projections.reconfigured(cause));
  onClose(() => {
    unfollow();
    unsubscribe();
  });
  return { filters, projections };
}

async function servingCertificate(
  { tls, nodeName, hubAddress, bindAddress, stateDirectory }: HubOptions,
  upstream: Upstream,
  clock: Clock,
  log: Logger,
  onClose: OnClose,
): Promise<CertificateSource> {
  if (tls !== undefined) return CertificateFiles.open({ certFile: tls.cert, keyFile: tls.key, clock, log });
  const certificate = await openServingCertificate({
    client: upstream.node(),
    nodeName,
    addresses: [...new Set([hubAddress, bindAddress])],
    file: join(stateDirectory, 'serving.pem'),
    clock,
    random: Math.random,
    log,
  });
  // What could not be had without a link may be had now.
  onClose(upstream.onChange((online) => online && certificate.look()));
  return certificate;
}

function untilThere(certificate: CertificateSource): Promise<void> {
  if (certificate.current !== undefined) return Promise.resolve();
  return new Promise((resolve) => {
    const stop = certificate.onChange(() => {
      stop();
      resolve();
    });
  });
}
