/** Which nodes a user means: by name, by pool, or by a label selector. Pure. */
import { parseLabelSelector, SelectorError } from '@tidegate/kube';
import { SupervisorError } from './error.ts';
import type { NodeLayout } from './layout.ts';

const POOL_LABELS = ['apps.openyurt.io/nodepool', 'apps.kubeedge.io/belonging-to'];

/** The names of the nodes that any of the targets means, in the order of `nodes`. Throws one sentence when one means none. */
export function resolveTargets(targets: readonly string[], nodes: readonly NodeLayout[]): string[] {
  const chosen = new Set(targets.flatMap((target) => resolveTarget(target, nodes)));
  return nodes.map(({ name }) => name).filter((name) => chosen.has(name));
}

function resolveTarget(target: string, nodes: readonly NodeLayout[]): string[] {
  if (nodes.some(({ name }) => name === target)) return [target];
  const matches = isSelector(target) ? selectorOf(target) : inPool(target);
  const names = nodes.filter(({ labels }) => matches(labels)).map(({ name }) => name);
  if (names.length > 0) return names;
  throw new SupervisorError(`no node is or has ${JSON.stringify(target)}; there is: ${whatThereIs(nodes)}`);
}

/** A bare word is a name; everything that only a selector may hold makes it one. */
const isSelector = (target: string): boolean => /[=!,()<>\s]/.test(target);

function selectorOf(text: string): (labels: Record<string, string>) => boolean {
  try {
    const matcher = parseLabelSelector(text);
    return (labels) => matcher.matches(labels);
  } catch (error) {
    if (!(error instanceof SelectorError)) throw error;
    throw new SupervisorError(`${JSON.stringify(text)} is not a label selector: ${error.message}`, {
      cause: error,
    });
  }
}

const inPool =
  (pool: string) =>
  (labels: Record<string, string>): boolean =>
    POOL_LABELS.some((label) => labels[label] === pool);

function whatThereIs(nodes: readonly NodeLayout[]): string {
  if (nodes.length === 0) return 'no node at all';
  const words = new Set(nodes.map(({ name }) => name));
  for (const { labels } of nodes) {
    for (const [key, value] of Object.entries(labels)) {
      if (POOL_LABELS.includes(key)) words.add(`the pool ${value}`);
      else if (!key.includes('kubernetes.io/')) words.add(`${key}=${value}`);
    }
  }
  return [...words].join(', ');
}
