/** Waits until the manager answers, and says what it waits for. */
import {
  type Clock,
  DEPLOYMENTS,
  isNotFound,
  type KubeClient,
  type KubeObject,
  PODS,
  type Resource,
  sleep,
} from '@tidegate/kube';
import { InstallError } from './error.ts';
import { type NotReady, notReadyOf, WaitReport } from './not-ready.ts';

export const PART_OF_SELECTOR = 'app.kubernetes.io/part-of=tidegate';
export const WEBHOOK_CONFIGURATION = 'tidegate';
const VALIDATING: Resource<Webhooks> = {
  group: 'admissionregistration.k8s.io',
  version: 'v1',
  resource: 'validatingwebhookconfigurations',
  namespaced: false,
};

interface Webhooks extends KubeObject {
  webhooks?: { clientConfig: { caBundle?: string } }[];
}

const POLL_MS = 500;

export interface ReadyOptions {
  namespace: string;
  timeoutMs: number;
  clock: Clock;
  signal: AbortSignal;
  onStep(text: string): void;
}

/** Throws an InstallError that says what is missing if it takes longer than the timeout. */
export async function untilReady(client: KubeClient, options: ReadyOptions): Promise<void> {
  const { namespace, timeoutMs, clock, signal, onStep } = options;
  const deadline = clock.now() + timeoutMs;
  const report = new WaitReport('waiting for ', onStep);
  for (;;) {
    const waiting = await whatIsMissing(client, namespace, signal);
    if (waiting.length === 0) return;
    const text = report.update(waiting);
    if (clock.now() > deadline)
      throw new InstallError(
        `not ready after ${timeoutMs / 1000} s: ${text}. Everything is applied; run the command again to wait longer, or tidegate check to find out more`,
      );
    await sleep(clock, POLL_MS, signal);
  }
}

/** What is not ready yet, one entry for each Deployment. Empty if everything is ready. */
export async function whatIsMissing(
  client: KubeClient,
  namespace: string,
  signal?: AbortSignal,
): Promise<NotReady[]> {
  const [deployments, pods] = await Promise.all([
    client.list(DEPLOYMENTS, { namespace, labelSelector: PART_OF_SELECTOR, signal }),
    client.list(PODS, { namespace, labelSelector: PART_OF_SELECTOR, signal }),
  ]);
  const missing = notReadyOf(deployments.items, pods.items);
  if (deployments.items.length === 0)
    missing.push({ kind: 'Deployments', name: `in namespace ${namespace}`, problems: [] });
  if (missing.length === 0 && !(await isRegistered(client, signal)))
    missing.push({ kind: 'the registration', name: 'of the admission webhook', problems: [] });
  return missing;
}

/** The manager adds its certificate authority to the webhooks when it is ready. */
async function isRegistered(client: KubeClient, signal?: AbortSignal): Promise<boolean> {
  try {
    const { webhooks = [] } = await client.get(VALIDATING, { name: WEBHOOK_CONFIGURATION }, { signal });
    return webhooks.every(({ clientConfig }) => Boolean(clientConfig.caBundle));
  } catch (error) {
    if (isNotFound(error)) return false;
    throw error;
  }
}
