/** Resolves the targets of `cut` and `mend` to nodes: by node name, by pool, or by label selector. Pure functions. */
import { parseLabelSelector, SelectorError } from '@tidegate/kube';
import { SupervisorError } from './error.ts';
import type { NodeLayout } from './layout.ts';

const POOL_LABELS = ['apps.openyurt.io/nodepool', 'apps.kubeedge.io/belonging-to'];

/** The names of the nodes that any target selects, in the order of `nodes`. Throws when a target selects no node. */
export function resolveTargets(targets: readonly string[], nodes: readonly NodeLayout[]): string[] {
  const chosen = new Set(targets.flatMap((target) => resolveTarget(target, nodes)));
  return nodes.map(({ name }) => name).filter((name) => chosen.has(name));
}

function resolveTarget(target: string, nodes: readonly NodeLayout[]): string[] {
  if (nodes.some(({ name }) => name === target)) return [target];
  const matches = isSelector(target) ? selectorOf(target) : inPool(target);
  const names = nodes.filter(({ labels }) => matches(labels)).map(({ name }) => name);
  if (names.length > 0) return names;
  throw new SupervisorError(`${JSON.stringify(target)} matches no node; ${knownTargets(nodes)}`);
}

/** A plain word is a name of a node or pool; the characters below occur only in selectors. */
const isSelector = (target: string): boolean => /[=!,()<>\s]/.test(target);

function selectorOf(text: string): (labels: Record<string, string>) => boolean {
  try {
    const matcher = parseLabelSelector(text);
    return (labels) => matcher.matches(labels);
  } catch (error) {
    if (!(error instanceof SelectorError)) throw error;
    throw new SupervisorError(`${JSON.stringify(text)} is not a valid label selector: ${error.message}`, {
      cause: error,
    });
  }
}

const inPool =
  (pool: string) =>
  (labels: Record<string, string>): boolean =>
    POOL_LABELS.some((label) => labels[label] === pool);

/** What the user could have meant, for the error message. Standard Kubernetes labels are left out. */
function knownTargets(nodes: readonly NodeLayout[]): string {
  if (nodes.length === 0) return 'the cluster has no nodes';
  const labels = nodes.flatMap((node) => Object.entries(node.labels));
  const pools = labels.filter(([key]) => POOL_LABELS.includes(key)).map(([, value]) => value);
  const selectors = labels
    .filter(([key]) => !POOL_LABELS.includes(key) && !key.includes('kubernetes.io/'))
    .map(([key, value]) => `${key}=${value}`);
  const choices = [
    ['nodes', nodes.map(({ name }) => name)],
    ['pools', pools],
    ['labels', selectors],
  ] as const;
  return choices
    .filter(([, values]) => values.length > 0)
    .map(([what, values]) => `${what}: ${[...new Set(values)].join(', ')}`)
    .join('; ');
}
