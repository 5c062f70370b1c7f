import type { KubeObject, Pod } from '@tidegate/kube';

/** What keeps a pod from running, in the words of the kubelet or the scheduler. */
export interface PodProblem {
  /** For example `CrashLoopBackOff` or `ImagePullBackOff`. */
  readonly reason: string;
  readonly message: string;
}

/** Reasons of containers that are about to start. */
const STARTING = new Set(['ContainerCreating', 'PodInitializing']);
/** Messages of images and policies can be long. */
const MOST_TEXT = 200;
const MOST_SHOWN = 2;

/** Returns undefined if the pod runs, or is about to. */
export function problemOf({ status }: Pod): PodProblem | undefined {
  const scheduled = status?.conditions?.find(({ type }) => type === 'PodScheduled');
  if (scheduled?.status === 'False')
    return { reason: scheduled.reason || 'Unschedulable', message: shortened(scheduled.message ?? '') };
  for (const { name, state, lastState } of [
    ...(status?.initContainerStatuses ?? []),
    ...(status?.containerStatuses ?? []),
  ]) {
    const { reason, message = '' } = state?.waiting ?? {};
    if (reason === undefined || STARTING.has(reason)) continue;
    const { exitCode, reason: cause } = lastState?.terminated ?? {};
    // The message of a crash loop contains the time to wait, which changes all the time.
    const exited =
      exitCode === undefined ? '' : `exit code ${exitCode}${cause === undefined ? '' : `, ${cause}`}`;
    const text = reason === 'CrashLoopBackOff' ? exited : shortened(message);
    return { reason, message: `container ${name}${text === '' ? '' : `: ${text}`}` };
  }
  if (status?.phase === 'Failed' && status.reason !== undefined)
    return { reason: status.reason, message: shortened(status.message ?? '') };
  return undefined;
}

const shortened = (text: string): string =>
  text.length <= MOST_TEXT ? text : `${text.slice(0, MOST_TEXT)}...`;

/** Sums up the problems of the pods of one workload. `reason` is that of most pods. */
export function summaryOf(pods: readonly KubeObject[]): PodProblem | undefined {
  const counts = new Map<string, { problem: PodProblem; pods: number }>();
  for (const pod of pods) {
    const problem = problemOf(pod as Pod);
    if (problem === undefined) continue;
    const text = textOf(problem);
    const known = counts.get(text);
    counts.set(text, { problem, pods: (known?.pods ?? 0) + 1 });
  }
  const byCount = [...counts].toSorted(([a, x], [b, y]) => y.pods - x.pods || (a < b ? -1 : 1));
  const [first] = byCount;
  if (first === undefined) return undefined;
  const shown = byCount
    .slice(0, MOST_SHOWN)
    .map(([text, { pods: count }]) => `${count} ${count === 1 ? 'pod' : 'pods'}: ${text}`);
  return { reason: first[1].problem.reason, message: shown.join('; ') };
}

const textOf = ({ reason, message }: PodProblem): string =>
  message === '' ? reason : `${reason} (${message})`;
