/**
 * Amounts of resources (cpu, memory, extended resources) in billionths, and what pods request. The API server needs them
 * for quotas and limits, the scheduler to find a node.
 */
import { parseQuantity } from '@tidegate/kube';

export type Amounts = ReadonlyMap<string, bigint>;

export const ONE = 1_000_000_000n;
const NOTHING: Amounts = new Map();

type ResourceList = Readonly<Record<string, string>> | undefined;

export function parseAmounts(list: ResourceList): Amounts {
  const parsed = new Map<string, bigint>();
  // The API also accepts numbers as quantities.
  for (const [name, text] of Object.entries(list ?? {})) {
    parsed.set(name, parseQuantity(String(text))?.nanos ?? 0n);
  }
  return parsed;
}

type Side = 'requests' | 'limits';
type Requirements = { [K in Side]?: Record<string, string> };

interface ContainerAmounts {
  resources?: Requirements;
  restartPolicy?: string;
}

/** The part of a pod spec that determines its amounts. */
export interface PodAmounts {
  containers?: ContainerAmounts[];
  initContainers?: ContainerAmounts[];
  resources?: Requirements;
}

/**
 * The peak of what a pod requests: either all containers and sidecars together, or one init container together with the
 * sidecars started before it. Amounts at pod level take precedence. The overhead of the runtime is not included.
 */
export function podAmounts(spec: PodAmounts, side: Side): Amounts {
  let sidecars = NOTHING;
  let starting = NOTHING;
  for (const container of spec.initContainers ?? []) {
    const own = parseAmounts(container.resources?.[side]);
    starting = larger(starting, sum(sidecars, own));
    if (container.restartPolicy === 'Always') sidecars = sum(sidecars, own);
  }
  const running = (spec.containers ?? []).reduce(
    (total, container) => sum(total, parseAmounts(container.resources?.[side])),
    sidecars,
  );
  return new Map([...larger(starting, running), ...parseAmounts(spec.resources?.[side])]);
}

export const sum = (a: Amounts, b: Amounts): Amounts => combine(a, b, (x, y) => x + y);
export const difference = (a: Amounts, b: Amounts): Amounts => combine(a, b, (x, y) => x - y);
const larger = (a: Amounts, b: Amounts): Amounts => combine(a, b, (x, y) => (x > y ? x : y));

function combine(a: Amounts, b: Amounts, of: (x: bigint, y: bigint) => bigint): Amounts {
  if (b.size === 0) return a;
  const combined = new Map(a);
  for (const [name, amount] of b) combined.set(name, of(a.get(name) ?? 0n, amount));
  return combined;
}
