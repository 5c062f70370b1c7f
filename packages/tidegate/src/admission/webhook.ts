import { isIP } from 'node:net';
import type { Clock, Logger } from '@tidegate/kube';
import type { KeyPair } from '@tidegate/kube/certificates';
import { bundleOf, isServingCurrent, newServingCertificate, signerOf } from './authorities.ts';
import { type SecretName, sharedAuthorities } from './authority-secret.ts';
import type { Endpoint } from './configuration.ts';
import { deployedBundle, Registration, type RegistrationOptions } from './registration.ts';
import { AdmissionServer, type ClientAuthentication } from './server.ts';
import { WakeableSleep } from './wakeable-sleep.ts';

/**
 * How often certificates and configuration are checked. Much shorter than the time for which a new authority waits
 * before it signs, so every manager learns about it in time.
 */
const PERIOD_MS = 60_000;

export interface WebhookOptions extends Omit<RegistrationOptions, 'endpoint'> {
  host: string;
  /** 0 chooses a free port. */
  port: number;
  /** How API servers reach the webhook, if not at host and port. */
  endpoint?: Endpoint;
  /** Which clients may send reviews. Default: every client that can connect. */
  clients?: ClientAuthentication;
  secret: SecretName;
  clock: Clock;
  log: Logger;
  /** Subscribes to changes of what `matchConditions` of the rules depend on. Returns a function that unsubscribes. */
  onChange?: (changed: () => void) => () => void;
  /** Called with what is wrong in the webhook configurations, each time after they were checked. */
  onProblems?: (problems: readonly string[]) => void;
  /** Called once, when the webhook serves, and has written what it may to the webhook configurations. */
  onReady?: () => void;
}

/** Serves the webhook, and keeps its configuration and certificates current, until the signal is aborted. */
export async function runWebhook(options: WebhookOptions, signal: AbortSignal): Promise<void> {
  const { host, port, rules, log, clock } = options;
  const period = new WakeableSleep(clock);
  let current = await certificatesAfter(undefined, options, signal);
  const server = await AdmissionServer.listen({
    host,
    port,
    certificate: current.serving,
    clients: options.clients,
    rules,
    log,
  });
  const unsubscribe = options.onChange?.(() => period.wake());
  try {
    const endpoint = options.endpoint ?? { url: `https://${authorityOf(host, server.port)}` };
    const registration = new Registration({ ...options, endpoint });
    const register = async (): Promise<void> => {
      const problems = await registration.update(current.bundle, signal);
      options.onProblems?.(problems);
    };
    await register();
    options.onReady?.();
    while (await period.sleep(PERIOD_MS, signal)) {
      try {
        const next = await certificatesAfter(current, options, signal);
        if (next.serving !== current.serving) server.renew(next.serving);
        current = next;
        await register();
      } catch (err) {
        if (!signal.aborted)
          log.warn(
            { err },
            'could not update the certificates or the configuration of the admission webhook; will retry',
          );
      }
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  } finally {
    unsubscribe?.();
    await server.close();
  }
}

interface Certificates {
  serving: KeyPair;
  bundle: string;
}

/** Each manager has its own serving certificate, which is never written to disk or to the cluster. */
async function certificatesAfter(
  before: Certificates | undefined,
  { client, secret, host, endpoint, clock, log }: WebhookOptions,
  signal: AbortSignal,
): Promise<Certificates> {
  const now = clock.now();
  const authorities = await sharedAuthorities(client, secret, { now, log, signal });
  const signer = signerOf(authorities, now, await deployedBundle(client, signal));
  const serving =
    before !== undefined && isServingCurrent(before.serving, signer, now)
      ? before.serving
      : newServingCertificate(signer, hostsOf(host, endpoint), now);
  return { serving, bundle: bundleOf(authorities) };
}

/** All names and addresses under which an API server may connect. */
function hostsOf(host: string, endpoint: Endpoint | undefined): string[] {
  if (endpoint === undefined) return [host];
  if ('url' in endpoint) return [new URL(endpoint.url).hostname.replace(/^\[|\]$/g, '')];
  const { namespace, name } = endpoint.service;
  return [`${name}.${namespace}.svc`, `${name}.${namespace}.svc.cluster.local`];
}

const authorityOf = (host: string, port: number): string =>
  isIP(host) === 6 ? `[${host}]:${port}` : `${host}:${port}`;
