/** Opens the parts of the hub whose kind depends on the options: credentials, API servers, serving certificate. */
import { join } from 'node:path';
import { type Clock, type CredentialSource, KubeClient, type Logger, type Metrics } from '@tidegate/kube';
import {
  CertificateFiles,
  type CertificateSource,
  ClientCredentials,
  openServingCertificate,
} from './certificates/index.ts';
import type { Lifetime } from './lifetime.ts';
import type { HubOptions } from './options.ts';
import type { HubState } from './state.ts';
import { Upstream } from './upstream/index.ts';

/** The key under which the time of the last contact with an API server is kept. */
const LAST_CONTACT = 'last-contact';

/**
 * Returns the credentials of the kubeconfig. If there is a bootstrap kubeconfig, returns credentials that the
 * hub requests with it instead. `waitingFor` is the reason why there are no valid credentials yet.
 */
export async function openNodeCredentials(
  { bootstrap, config, nodeName }: HubOptions,
  { directory }: HubState,
  lifetime: Lifetime,
  clock: Clock,
  log: Logger,
): Promise<{ source: CredentialSource; waitingFor(): string | undefined }> {
  if (bootstrap === undefined) return { source: config.credentials, waitingFor: () => undefined };
  const source = await ClientCredentials.open({
    nodeName,
    bootstrap,
    file: join(directory, 'client.pem'),
    connect: (credentials) => new KubeClient({ ...bootstrap, credentials }, { log }),
    clock,
    random: Math.random,
    log,
  });
  lifetime.run((signal) => source.run(signal));
  return { source, waitingFor: () => source.waitingFor };
}

/**
 * Resolves when one API server has answered, or when all of them have failed to. The time of the last
 * contact survives a restart: while no API server is reachable, a token must have been valid then.
 */
export async function openUpstream(
  { servers, lbMode, healthTimings, config, version }: HubOptions,
  { memory }: HubState,
  nodeCredentials: CredentialSource,
  metrics: Metrics,
  clock: Clock,
  log: Logger,
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

/** Uses the given certificate files, or a certificate that the cluster signs. */
export async function openCertificate(
  { tls, nodeName, hubAddress, bindAddress, stateDirectory }: HubOptions,
  upstream: Upstream,
  lifetime: Lifetime,
  clock: Clock,
  log: Logger,
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
  // A signing request that failed because no API server was reachable can succeed now.
  lifetime.onClose(upstream.onChange((isOnline) => isOnline && certificate.checkNow()));
  return certificate;
}

/** Resolves when there is a certificate. */
export function certificateIssued(certificate: CertificateSource): Promise<void> {
  if (certificate.current !== undefined) return Promise.resolve();
  return new Promise((resolve) => {
    const stop = certificate.onChange(() => {
      stop();
      resolve();
    });
  });
}
