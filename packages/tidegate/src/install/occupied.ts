/**
 * Namespaces of an installation in which other programs run. The installation lets only restricted pods be created there, so
 * a pod of another program that ends could not be replaced.
 */
import { isNotFound, type KubeClient, NAMESPACES, PODS } from '@tidegate/kube';
import { ROUTER_LABEL } from '../api/index.ts';

const ENFORCED = 'pod-security.kubernetes.io/enforce';
const OF_OTHERS = `app.kubernetes.io/part-of!=tidegate,!${ROUTER_LABEL}`;
const MOST_NAMES = 3;

export interface Occupied {
  /** The sentence up to what to do. */
  text: string;
  todo: string;
}

/** Namespaces that exist without the restriction, and have pods that are not of Tidegate. */
export async function occupiedNamespaces(
  client: KubeClient,
  names: readonly string[],
  signal?: AbortSignal,
): Promise<Occupied[]> {
  const found: Occupied[] = [];
  for (const name of names) {
    if (!(await isUnrestricted(client, name, signal))) continue;
    const { items } = await client.list(PODS, { namespace: name, labelSelector: OF_OTHERS, signal });
    if (items.length === 0) continue;
    const shown = items.slice(0, MOST_NAMES).map(({ metadata }) => metadata.name);
    const more = items.length > shown.length ? `, and ${items.length - shown.length} more` : '';
    found.push({
      text: `namespace ${name} has pods of other programs: ${shown.join(', ')}${more}. An installation of Tidegate allows restricted pods only there`,
      todo: 'run other programs in another namespace, because pods that are not restricted could not be created again',
    });
  }
  return found;
}

/** Namespaces that every cluster has, and that an installation must not restrict. */
export const isOfKubernetes = (namespace: string): boolean => /^(default|kube-.*)$/.test(namespace);

async function isUnrestricted(client: KubeClient, name: string, signal?: AbortSignal): Promise<boolean> {
  try {
    const { metadata } = await client.get(NAMESPACES, { name }, { signal });
    return metadata.labels?.[ENFORCED] !== 'restricted';
  } catch (error) {
    if (isNotFound(error)) return false;
    throw error;
  }
}
