/**
 * The certificate authority in the webhook configurations. Where the API server has policies, the manager writes it there itself.
 * Elsewhere its account could then change everything in them, so it may not, and the installation copies the authority from the
 * Secret of the manager.
 */
import { type Clock, isNotFound, type KubeClient, type KubeObject, SECRETS, sleep } from '@tidegate/kube';
import { InstallError } from './error.ts';
import { WaitReport } from './not-ready.ts';
import { whatIsMissing } from './ready.ts';

const SECRET = 'tidegate-webhook';
const POLL_MS = 500;

interface Webhooks extends KubeObject {
  webhooks?: { clientConfig: { caBundle?: string; service?: { namespace: string } } }[];
}

/** A webhook configuration of deploy/webhooks-before-1.30.yaml for a namespace, without its placeholder for the authority. */
export function plainWebhooksIn(object: Webhooks, namespace: string): KubeObject {
  const webhooks = (object.webhooks ?? []).map(({ clientConfig, ...webhook }) => {
    const { caBundle: _, service, ...rest } = clientConfig;
    return { ...webhook, clientConfig: { ...rest, service: { ...service, namespace } } };
  });
  return { ...object, webhooks } as KubeObject;
}

/** The object with the authority in all of its webhooks. Other objects stay as they are. */
export function withAuthority(object: Webhooks, caBundle: string): KubeObject {
  if (object.webhooks === undefined) return object;
  const webhooks = object.webhooks.map(({ clientConfig, ...webhook }) => ({
    ...webhook,
    clientConfig: { ...clientConfig, caBundle },
  }));
  return { ...object, webhooks } as KubeObject;
}

export const lacksAuthority = ({ webhooks = [] }: Webhooks): boolean =>
  webhooks.some(({ clientConfig }) => !clientConfig.caBundle);

/** The authorities that the manager has created, as a CA bundle. Undefined before its first start. */
export async function authorityOf(
  client: KubeClient,
  namespace: string,
  signal?: AbortSignal,
): Promise<string | undefined> {
  try {
    const { data } = await client.get(SECRETS, { namespace, name: SECRET }, { signal });
    return data?.['ca.crt'] || undefined;
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}

export interface AuthorityOptions {
  namespace: string;
  timeoutMs: number;
  clock: Clock;
  signal: AbortSignal;
  onStep(text: string): void;
}

/** Waits until the manager has created its authority. */
export async function untilAuthority(client: KubeClient, options: AuthorityOptions): Promise<string> {
  const { namespace, timeoutMs, clock, signal, onStep } = options;
  const deadline = clock.now() + timeoutMs;
  const report = new WaitReport('waiting for the certificate authority of the webhook: ', onStep);
  for (;;) {
    const found = await authorityOf(client, namespace, signal);
    if (found !== undefined) return found;
    const text = report.update(await whatIsMissing(client, namespace, signal));
    if (clock.now() > deadline)
      throw new InstallError(
        `not ready after ${timeoutMs / 1000} s: ${text}. The webhooks are not registered yet; run the command again to continue, or tidegate check to find out more`,
      );
    await sleep(clock, POLL_MS, signal);
  }
}
