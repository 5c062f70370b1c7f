/** What `tidegate uninstall` would remove, and what speaks against it. */
import { isNotFound, type KubeClient, type KubeObject } from '@tidegate/kube';
import { type Access, deniedAccess } from './access.ts';
import { servedAs } from './apply-plan.ts';
import type { Chart } from './chart.ts';
import { helmRelease } from './helm.ts';
import { findInventories, type Inventory, nameOf, type ObjectName, readInventory } from './inventory.ts';
import { nodesWithHub } from './losses.ts';
import { defaultObjects } from './prepare.ts';

export interface Removal {
  /** In the order of creation. */
  objects: readonly ObjectName[];
  /** What `tidegate install` has recorded, if it installed Tidegate. */
  inventory: Inventory | undefined;
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
  refusals.push(...(await permissionProblem(client, objects, signal)));
  const hubs = force ? [] : await nodesWithHub(client, signal);
  if (hubs.length > 0)
    refusals.push(
      `these nodes use a hub, which needs permissions that would be deleted: ${hubs.join(', ')}. Run tidegate hub uninstall on each of them first, or use --force`,
    );
  return {
    objects,
    inventory,
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

/** A removal that stops halfway because of a missing permission would leave the cluster without webhooks. */
async function permissionProblem(
  client: KubeClient,
  objects: readonly ObjectName[],
  signal?: AbortSignal,
): Promise<string[]> {
  const needed = new Map<string, Access>();
  for (const { apiVersion, kind, namespace } of objects) {
    const served = await servedAs(client, { apiVersion, kind });
    if (served === undefined) continue;
    const { group, resource } = served;
    const access = { verb: 'delete', group, resource, ...(namespace !== undefined && { namespace }) };
    needed.set(JSON.stringify(access), access);
  }
  const denied = (await deniedAccess(client, [...needed.values()], signal)).map(
    ({ resource, namespace }) => `${resource}${namespace === undefined ? '' : ` in namespace ${namespace}`}`,
  );
  return denied.length === 0
    ? []
    : [`the user may not delete ${denied.join(', ')}: use a kubeconfig of a cluster administrator`];
}
