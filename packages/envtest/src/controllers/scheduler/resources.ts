/** The resources that a pod requests and that a node offers (cpu, memory, extended resources), in billionths. */

import { type Node, type Pod, parseQuantity } from '@tidegate/kube';
import type { Container } from 'kubernetes-types/core/v1.d.ts';

/** Amounts by resource name, in billionths, so that they are exact. */
export type Resources = ReadonlyMap<string, bigint>;

/** One unit, for example one CPU or one byte. */
export const ONE = 1_000_000_000n;
const NOTHING: Resources = new Map();

type ResourceList = Readonly<Record<string, string>> | undefined;

function parse(list: ResourceList): Resources {
  const parsed = new Map<string, bigint>();
  // The API also accepts numbers as quantities.
  for (const [name, text] of Object.entries(list ?? {})) {
    parsed.set(name, parseQuantity(String(text))?.nanos ?? 0n);
  }
  return parsed;
}

/** What pods can request on the node in total. */
export const allocatableOf = (node: Node): Resources =>
  parse(node.status?.allocatable ?? node.status?.capacity);

/**
 * The peak of what the pod requests: either all containers and sidecars together, or one init container together
 * with the sidecars started before it. Requests at pod level take precedence.
 */
export function requestsOf(pod: Pod): Resources {
  const { spec } = pod;
  let sidecars = NOTHING;
  let starting = NOTHING;
  for (const container of spec?.initContainers ?? []) {
    const requests = parse(container.resources?.requests);
    starting = larger(starting, sum(sidecars, requests));
    if (container.restartPolicy === 'Always') sidecars = sum(sidecars, requests);
  }
  const running = (spec?.containers ?? []).reduce(addRequests, sidecars);
  const ofContainers = larger(starting, running);
  const requests = new Map([...ofContainers, ...parse(podLevelRequests(pod))]);
  return sum(requests, parse(spec?.overhead));
}

const addRequests = (total: Resources, container: Container): Resources =>
  sum(total, parse(container.resources?.requests));

/** `spec.resources` is newer than the type definitions. */
const podLevelRequests = (pod: Pod): ResourceList =>
  (pod.spec as { resources?: { requests?: Record<string, string> } } | undefined)?.resources?.requests;

export const sum = (a: Resources, b: Resources): Resources => combine(a, b, (x, y) => x + y);
export const difference = (a: Resources, b: Resources): Resources => combine(a, b, (x, y) => x - y);
const larger = (a: Resources, b: Resources): Resources => combine(a, b, (x, y) => (x > y ? x : y));

function combine(a: Resources, b: Resources, of: (x: bigint, y: bigint) => bigint): Resources {
  if (b.size === 0) return a;
  const combined = new Map(a);
  for (const [name, amount] of b) combined.set(name, of(a.get(name) ?? 0n, amount));
  return combined;
}
