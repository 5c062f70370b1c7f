/** What an installation waits for: Deployments and the problems of their pods, for people that read along. */
import type { Deployment, Pod } from '@tidegate/kube';

/** Something that is not ready yet. */
export interface NotReady {
  /** For example `Deployment`. */
  kind: string;
  name: string;
  problems: readonly Problem[];
}

interface Problem {
  /** Stays the same while the kubelet tries again and its message changes. Several pods can have the same problem. */
  key: string;
  text: string;
  /** The image that cannot be pulled. */
  image?: string;
  /** What went wrong, if the message reports more than that the kubelet waits. */
  cause?: string;
}

export function notReadyOf(deployments: readonly Deployment[], pods: readonly Pod[]): NotReady[] {
  return deployments.flatMap((deployment) => {
    if (isAvailable(deployment)) return [];
    const { name = '' } = deployment.metadata;
    const own = pods.filter(
      (pod) => pod.metadata.labels?.['app.kubernetes.io/name'] === name && isCurrent(pod, deployment),
    );
    const problems = [...failuresOf(deployment), ...own.flatMap(problemsOf)];
    return [{ kind: 'Deployment', name, problems }];
  });
}

/** With all details that are known now, for `tidegate check`. */
export function notReadyText({ kind, name, problems }: NotReady): string {
  const why = [...new Set(problems.map(({ text }) => text))];
  return `${kind} ${name}${why.length === 0 ? '' : ` (${why.join(', ')})`}`;
}

/**
 * Reports what a command waits for, once for each change. A kubelet that cannot pull an image or start a container alternates
 * between two states and writes other messages all the time, which is not a change.
 */
export class WaitReport {
  readonly #prefix: string;
  readonly #onStep: (text: string) => void;
  readonly #causes = new Map<string, string>();
  #last = '';

  constructor(prefix: string, onStep: (text: string) => void) {
    this.#prefix = prefix;
    this.#onStep = onStep;
  }

  /** Returns the text, also if it was reported before. */
  update(notReady: readonly NotReady[]): string {
    const problems = new Map<string, Problem>();
    for (const problem of notReady.flatMap((each) => each.problems)) {
      problems.set(problem.key, problems.get(problem.key) ?? problem);
      if (problem.cause !== undefined) this.#causes.set(problem.key, problem.cause);
    }
    const why = [...problems.values()].map((problem) => this.#textOf(problem));
    const names = namesOf(notReady);
    const text = `${this.#prefix}${[names, ...why].join(': ')}`;
    const key = JSON.stringify([names, ...[...problems.keys()].sort()]);
    if (key !== this.#last) this.#onStep(text);
    this.#last = key;
    return text;
  }

  #textOf({ key, text, image }: Problem): string {
    if (image === undefined) return text;
    const cause = this.#causes.get(key);
    return `image ${image} cannot be pulled${cause === undefined ? '' : `: ${cause}`}. Push the image, or set another one with --set image=NAME`;
  }
}

/** `Deployments a, b; the registration of the webhook`. */
function namesOf(notReady: readonly NotReady[]): string {
  const kinds = [...new Set(notReady.map(({ kind }) => kind))];
  return kinds
    .map((kind) => {
      const names = notReady.filter((each) => each.kind === kind).map(({ name }) => name);
      return `${kind}${names.length > 1 ? 's' : ''} ${names.join(', ')}`;
    })
    .join('; ');
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

/** A pod with other images is of an earlier version of the Deployment, and ends when the new ones are ready. */
function isCurrent({ spec }: Pod, deployment: Deployment): boolean {
  const images = (containers: readonly { image?: string }[] = []): string =>
    JSON.stringify(containers.map(({ image }) => image));
  return images(spec?.containers) === images(deployment.spec?.template.spec?.containers);
}

const failuresOf = ({ status }: Deployment): Problem[] =>
  (status?.conditions ?? [])
    .filter(({ type, status }) => type === 'ReplicaFailure' && status === 'True')
    .map(({ message = '' }) => ({ key: message, text: message }));

const PULL_REASONS = new Set(['ErrImagePull', 'ImagePullBackOff', 'InvalidImageName', 'ErrImageNeverPull']);

/** Why a pod is not ready, as far as its status contains it. */
function problemsOf({ metadata, status }: Pod): Problem[] {
  const pod = `pod ${metadata.name}`;
  const unscheduled = (status?.conditions ?? []).find(
    (condition) => condition.type === 'PodScheduled' && condition.status === 'False',
  );
  if (unscheduled !== undefined) {
    const text = `${pod}: ${unscheduled.message ?? 'not scheduled'}`;
    return [{ key: text, text }];
  }
  return (status?.containerStatuses ?? []).flatMap(({ image, state, lastState }) => {
    const { reason, message } = state?.waiting ?? {};
    if (reason === undefined || reason === 'ContainerCreating') return [];
    const before = lastState?.terminated?.message;
    const text = `${pod}: ${[reason, message, before].filter(Boolean).join(': ')}`;
    if (!PULL_REASONS.has(reason) || image === undefined) return [{ key: `${pod}: ${reason}`, text }];
    const cause = reason === 'ImagePullBackOff' ? undefined : message;
    return [{ key: `image ${image}`, text, image, ...(cause && { cause }) }];
  });
}
