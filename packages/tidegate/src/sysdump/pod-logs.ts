import { isNotFound, type KubeClient, PODS, type Pod } from '@tidegate/kube';
import { isOurs } from './arguments.ts';
import { redactLog } from './redact-text.ts';

const LOG_LINES = 2000;
const DEADLINE_MS = 20_000;

/**
 * Writes the logs of Tidegate's pods in a namespace, also of containers that have ended. Returns what could not be read. Pods
 * whose logs are missing for a reason are listed in a file of their own.
 */
export async function podLogs(
  client: KubeClient,
  namespace: string,
  signal: AbortSignal,
  write: (name: string, text: string) => void,
): Promise<string[]> {
  const problems: string[] = [];
  const leftOut: string[] = [];
  const save = async (pod: string, { container, previous }: ContainerLog): Promise<void> => {
    const path = `/api/v1/namespaces/${namespace}/pods/${pod}/log?container=${container}&tailLines=${LOG_LINES}`;
    const text = await client.text(previous ? `${path}&previous=true` : path, {
      signal,
      deadlineMs: DEADLINE_MS,
    });
    write(`${namespace}/logs/${pod}.${container}${previous ? '.previous' : ''}.log`, redactLog(text));
  };
  const saveAll = async (pod: Pod): Promise<void> => {
    const name = `${pod.metadata.name}`;
    for (const log of containerLogs(pod)) {
      try {
        await save(name, log);
      } catch (error) {
        // The kubelet removes containers before the pod is gone.
        if (await isDeleted(client, pod, signal)) return void leftOut.push(`${name}: deleted`);
        problems.push(`${name}: ${(error as Error).message}`);
      }
    }
  };
  try {
    for (const pod of (await client.list(PODS, { namespace, signal })).items) {
      if (isOurs(pod.metadata.labels)) await saveAll(pod);
      else leftOut.push(`${pod.metadata.name}: not a pod of Tidegate`);
    }
  } catch (error) {
    problems.push((error as Error).message);
  }
  if (leftOut.length > 0)
    write(
      `${namespace}/logs-left-out.txt`,
      `Logs of these pods are left out or not complete:\n${leftOut.join('\n')}\n`,
    );
  return problems;
}

interface ContainerLog {
  container: string;
  previous: boolean;
}

/** The logs that a kubelet has: none of a container that has never started, nor of a predecessor that is gone. */
function containerLogs({ status }: Pod): ContainerLog[] {
  const logs: ContainerLog[] = [];
  for (const { name, containerID, lastState } of status?.containerStatuses ?? []) {
    if (containerID) logs.push({ container: name, previous: false });
    // Why the container was restarted.
    if (lastState?.terminated?.containerID) logs.push({ container: name, previous: true });
  }
  return logs;
}

/** Whether the pod is being deleted, is gone, or was replaced by another one with its name. */
async function isDeleted(client: KubeClient, { metadata }: Pod, signal: AbortSignal): Promise<boolean> {
  try {
    const { name = '', namespace } = metadata;
    const now = await client.get(PODS, { name, namespace }, { signal });
    return now.metadata.uid !== metadata.uid || now.metadata.deletionTimestamp !== undefined;
  } catch (error) {
    return isNotFound(error);
  }
}
