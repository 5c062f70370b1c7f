import { isIP } from 'node:net';
import { Applier, type Clock, type KeyPair, type KubeClient, type Logger, orAborted } from '@tidegate/kube';
import { Alarm } from './alarm.ts';
import { bundleOf, isGoodServing, newServing, signerOf } from './authorities.ts';
import { type SecretName, sharedAuthorities } from './authority-secret.ts';
import { configurations, type Endpoint } from './configuration.ts';
import type { AdmissionRule } from './rule.ts';
import { AdmissionServer } from './server.ts';

/** How often certificates and configuration are looked at. Much shorter than what an authority waits before it signs. */
const PERIOD_MS = 60_000;

export interface WebhookOptions {
  client: KubeClient;
  rules: readonly AdmissionRule[];
  host: string;
  /** 0 takes any free one. */
  port: number;
  /** Where API servers find it, if not at host and port. */
  endpoint?: Endpoint;
  secret: SecretName;
  fieldManager: string;
  clock: Clock;
  log: Logger;
  /** Calls back when rules may want to be asked about something else than before. Returns how to end that. */
  onChange?: (changed: () => void) => () => void;
  /** Called once, when API servers ask us. */
  onReady?: () => void;
}

/** Answers API servers, and has them ask, until the signal is aborted. */
export async function runWebhook(options: WebhookOptions, signal: AbortSignal): Promise<void> {
  const { host, port, rules, log, clock } = options;
  const alarm = new Alarm(clock);
  let current = await certificatesAfter(undefined, options, signal);
  const server = await AdmissionServer.listen({
    host,
    port,
    certificate: current.serving,
    rules,
    log,
  });
  const forget = options.onChange?.(() => alarm.ring());
  try {
    const endpoint = options.endpoint ?? { url: `https://${authorityOf(host, server.port)}` };
    await configure(options, endpoint, current, signal);
    options.onReady?.();
    while (await alarm.slept(PERIOD_MS, signal)) {
      try {
        const next = await certificatesAfter(current, options, signal);
        if (next.serving !== current.serving) server.renew(next.serving);
        current = next;
        await configure(options, endpoint, current, signal);
      } catch (err) {
        if (!signal.aborted) log.warn({ err }, 'the webhook could not be looked after; trying again');
      }
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  } finally {
    forget?.();
    await server.close();
  }
}

interface Certificates {
  serving: KeyPair;
  bundle: string;
}

/** The serving certificate is each manager's own and never leaves its memory. */
async function certificatesAfter(
  before: Certificates | undefined,
  { client, secret, host, endpoint, clock, log }: WebhookOptions,
  signal: AbortSignal,
): Promise<Certificates> {
  const now = clock.now();
  const authorities = await sharedAuthorities(client, secret, { now, log, signal });
  const signer = signerOf(authorities, now);
  const serving =
    before !== undefined && isGoodServing(before.serving, signer, now)
      ? before.serving
      : newServing(signer, hostsOf(host, endpoint), now);
  return { serving, bundle: bundleOf(authorities) };
}

/** Applied even when nothing changed here: somebody may have changed it there. */
async function configure(
  { client, rules, fieldManager }: WebhookOptions,
  endpoint: Endpoint,
  { bundle }: Certificates,
  signal: AbortSignal,
): Promise<void> {
  const applier = new Applier(client, fieldManager);
  for (const { resource, object } of configurations(rules, endpoint, bundle))
    await orAborted(applier.apply(object, { resource, signal }), signal);
}

/** All names and addresses that an API server may reach us by. */
function hostsOf(host: string, endpoint: Endpoint | undefined): string[] {
  if (endpoint === undefined) return [host];
  if ('url' in endpoint) return [new URL(endpoint.url).hostname.replace(/^\[|\]$/g, '')];
  const { namespace, name } = endpoint.service;
  return [`${name}.${namespace}.svc`, `${name}.${namespace}.svc.cluster.local`];
}

const authorityOf = (host: string, port: number): string =>
  isIP(host) === 6 ? `[${host}]:${port}` : `${host}:${port}`;
