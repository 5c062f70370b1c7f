/** Waits until the manager answers, and says what it waits for. */
import {
  type Clock,
  DEPLOYMENTS,
  type Deployment,
  isNotFound,
  type KubeClient,
  type KubeObject,
  PODS,
  type Pod,
  type Resource,
  sleep,
} from '@tidegate/kube';
import { InstallError } from './error.ts';

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
  let last = '';
  for (;;) {
    const waiting = await whatIsMissing(client, namespace, signal);
    if (waiting.length === 0) return;
    const text = `waiting for ${waiting.join('; ')}`;
    if (text !== last) onStep(text);
    last = text;
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
): Promise<string[]> {
  const [deployments, pods] = await Promise.all([
    client.list(DEPLOYMENTS, { namespace, labelSelector: PART_OF_SELECTOR, signal }),
    client.list(PODS, { namespace, labelSelector: PART_OF_SELECTOR, signal }),
  ]);
  const missing = deployments.items.flatMap((deployment) => {
    if (isAvailable(deployment)) return [];
    const name = deployment.metadata.name ?? '';
    const own = pods.items.filter((pod) => pod.metadata.labels?.['app.kubernetes.io/name'] === name);
    const why = [...new Set([...failureOf(deployment), ...own.flatMap(problemOf)])];
    return [`Deployment ${name}${why.length === 0 ? '' : ` (${why.join(', ')})`}`];
  });
  if (deployments.items.length === 0) missing.push(`Deployments in namespace ${namespace}`);
  if (missing.length === 0 && !(await isRegistered(client, signal)))
    missing.push('the registration of the admission webhook');
  return missing;
}

function isAvailable({ metadata, spec, status }: Deployment): boolean {
  const wanted = spec?.replicas ?? 1;
  return (
    (status?.observedGeneration ?? 0) >= (metadata.generation ?? 0) &&
    (status?.updatedReplicas ?? 0) >= wanted &&
    (status?.availableReplicas ?? 0) >= wanted &&
    (status?.replicas ?? 0) <= wanted
  );
}

const failureOf = ({ status }: Deployment): string[] =>
  (status?.conditions ?? [])
    .filter(({ type, status }) => type === 'ReplicaFailure' && status === 'True')
    .map(({ message = '' }) => message);

/** Why a pod is not ready, as far as it says so itself. */
export function problemOf({ metadata, status }: Pod): string[] {
  const unscheduled = (status?.conditions ?? []).find(
    (condition) => condition.type === 'PodScheduled' && condition.status === 'False',
  );
  if (unscheduled !== undefined) return [`pod ${metadata.name}: ${unscheduled.message ?? 'not scheduled'}`];
  return (status?.containerStatuses ?? []).flatMap(({ state, lastState }) => {
    const { reason, message } = state?.waiting ?? {};
    if (reason === undefined || reason === 'ContainerCreating') return [];
    const before = lastState?.terminated?.message;
    return [`pod ${metadata.name}: ${[reason, message, before].filter(Boolean).join(': ')}`];
  });
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
