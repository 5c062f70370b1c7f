/** What `tidegate uninstall` would remove, and what speaks against it. */
import { isNotFound, type KubeClient, type KubeObject } from '@tidegate/kube';
import { servedAs } from './apply-plan.ts';
import type { Chart } from './chart.ts';
import { helmRelease } from './helm.ts';
import { findInventories, nameOf, type ObjectName, readInventory } from './inventory.ts';
import { nodesWithHub } from './losses.ts';
import { defaultObjects } from './prepare.ts';

export interface Removal {
  /** In the order of creation. */
  objects: readonly ObjectName[];
  createdNamespaces: readonly string[];
  /** Whether `tidegate install` has recorded what it created. */
  isRecorded: boolean;
  /** Why nothing is removed. */
  refusals: readonly string[];
}

export interface RemovalRequest {
  chart: Chart;
  namespace: string;
  /** Whether nodes that use a hub do not matter. */
  force: boolean;
  signal?: AbortSignal;
}

/** Undefined if Tidegate is not installed. The kinds of OpenYurt and KubeEdge in the cluster belong to these projects then. */
export async function planRemoval(client: KubeClient, request: RemovalRequest): Promise<Removal | undefined> {
  const { chart, namespace, force, signal } = request;
  const inventory = await readInventory(client, namespace);
  const objects = inventory?.objects ?? defaultObjects(chart, namespace).map(nameOf);
  const refusals: string[] = [];
  if (inventory === undefined) {
    const elsewhere = (await findInventories(client)).map(
      (other) =>
        `Tidegate ${other.version} is installed in namespace ${other.namespace}: use --namespace ${other.namespace}`,
    );
    const present = await existing(client, objects.filter(isOfTidegate), signal);
    if (present.length === 0 && elsewhere.length === 0) return undefined;
    refusals.push(...elsewhere, ...helmProblem(present));
  }
  const hubs = force ? [] : await nodesWithHub(client, signal);
  if (hubs.length > 0)
    refusals.push(
      `these nodes use a hub, which needs permissions that would be deleted: ${hubs.join(', ')}. Run tidegate hub uninstall on each of them first, or use --force`,
    );
  return {
    objects,
    createdNamespaces: inventory?.createdNamespaces ?? [],
    isRecorded: inventory !== undefined,
    refusals,
  };
}

/** Other projects have namespaces and CRDs with the same names. */
const isOfTidegate = ({ kind, name }: ObjectName): boolean =>
  kind !== 'Namespace' && (kind !== 'CustomResourceDefinition' || name.endsWith('.tidegate.io'));

async function existing(
  client: KubeClient,
  names: readonly ObjectName[],
  signal?: AbortSignal,
): Promise<KubeObject[]> {
  const found: KubeObject[] = [];
  for (const { apiVersion, kind, name, namespace } of names) {
    const resource = await servedAs(client, { apiVersion, kind });
    if (resource === undefined) continue;
    try {
      found.push(await client.get(resource, { name, namespace }, { signal }));
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
  }
  return found;
}

/** Helm would keep the release, and could not upgrade or remove it any more. */
function helmProblem(objects: readonly KubeObject[]): string[] {
  const found = helmRelease(objects);
  return found === undefined
    ? []
    : [
        `${found.object} belongs to the Helm release ${found.release}: remove it with helm uninstall ${found.release}`,
      ];
}
