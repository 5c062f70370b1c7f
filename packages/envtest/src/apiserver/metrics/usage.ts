/** The usage of pods: what annotations declare. Pure, over the objects of a namespace. */
import { formatQuantity, type KubeObject, parseQuantity, type Quantity } from '@tidegate/kube';
import { parseAmounts } from '../../amounts/index.ts';
import type { Pod } from '../resources/pod/types.ts';

export const USAGE_ANNOTATION = 'metrics.tidegate.io/usage';

const RESOURCES: Readonly<Record<string, Quantity['format']>> = { cpu: 'decimal', memory: 'binary' };

/** Amounts in billionths. */
export interface Usage {
  cpu: bigint;
  memory: bigint;
}

/** Finds an object by kind, namespace and name. */
export type FindOwner = (kind: string, namespace: string, name: string) => KubeObject | undefined;

/** Reads `cpu=1500m,memory=1Gi`. Undefined if the annotation is absent or not valid. */
export function declaredUsage({ metadata }: KubeObject): Usage | undefined {
  const text = metadata.annotations?.[USAGE_ANNOTATION];
  if (text === undefined) return undefined;
  const pairs = text.split(',').map((pair) => pair.split('=').map((part) => part.trim()));
  const isValid = pairs.every(
    ([name = '', value = '', ...rest]) =>
      Object.hasOwn(RESOURCES, name) && rest.length === 0 && parseQuantity(value) !== undefined,
  );
  if (!isValid) return undefined;
  const amounts = parseAmounts(Object.fromEntries(pairs) as Record<string, string>);
  return { cpu: amounts.get('cpu') ?? 0n, memory: amounts.get('memory') ?? 0n };
}

/** The workload that a pod belongs to: the controller of its controller, and so on. */
function workloadOf(pod: KubeObject, find: FindOwner): KubeObject | undefined {
  let top: KubeObject | undefined;
  for (let at: KubeObject | undefined = pod, depth = 0; at !== undefined && depth < 5; depth++) {
    const owner: { kind: string; name: string } | undefined = at.metadata.ownerReferences?.find(
      ({ controller }) => controller,
    );
    at = owner && find(owner.kind, pod.metadata.namespace ?? '', owner.name);
    top = at ?? top;
  }
  return top;
}

export const isRunning = ({ status, metadata }: Pod): boolean =>
  status.phase === 'Running' && metadata.deletionTimestamp === undefined;

/** The usage of each running pod of one namespace. */
export function usageOfPods(pods: readonly KubeObject[], find: FindOwner): Map<KubeObject, Usage> {
  const running = pods.filter((pod) => isRunning(pod as unknown as Pod));
  const workloads = new Map(running.map((pod) => [pod, workloadOf(pod, find)]));
  const counts = new Map<string, bigint>();
  for (const workload of workloads.values()) {
    const uid = workload?.metadata.uid ?? '';
    counts.set(uid, (counts.get(uid) ?? 0n) + 1n);
  }
  return new Map(
    running.map((pod) => {
      const workload = workloads.get(pod);
      const shared = workload === undefined ? undefined : declaredUsage(workload);
      const count = counts.get(workload?.metadata.uid ?? '') ?? 1n;
      const own = declaredUsage(pod) ?? divided(shared ?? { cpu: 0n, memory: 0n }, count);
      return [pod, own];
    }),
  );
}

export const divided = ({ cpu, memory }: Usage, by: bigint): Usage => ({
  cpu: cpu / by,
  memory: memory / by,
});

export const added = (a: Usage, b: Usage): Usage => ({ cpu: a.cpu + b.cpu, memory: a.memory + b.memory });

/** Whole millicores and bytes, as metrics-server shows them. */
export const shownUsage = ({ cpu, memory }: Usage): Record<string, string> => ({
  cpu: formatQuantity({ nanos: cpu - (cpu % 1_000_000n), format: 'decimal' }),
  memory: formatQuantity({ nanos: memory - (memory % 1_000_000_000n), format: 'binary' }),
});
