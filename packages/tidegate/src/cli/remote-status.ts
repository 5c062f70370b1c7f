/** The status of an installation on any cluster, for `tidegate status` with a kubeconfig. */
import {
  DEPLOYMENTS,
  getCondition,
  isConditionTrue,
  isNotFound,
  type KubeClient,
  type KubeList,
  type KubeObject,
  NODES,
  type Resource,
  textTable,
} from '@tidegate/kube';
import {
  HUB_VERSION_ANNOTATION,
  L7_ROUTERS,
  NODE_GROUP_LABEL,
  NODE_GROUPS,
  NODE_POOL_LABEL,
  NODE_POOLS,
} from '../api/index.ts';
import { findInventories, PART_OF_SELECTOR, readInventory } from '../install/index.ts';

export interface RemoteStatus {
  server: string;
  namespace: string;
  /** Undefined if Tidegate was not installed with `tidegate install`. */
  version?: string;
  /** The version that an interrupted installation or upgrade leads to. */
  changingTo?: string;
  /** Whether `tidegate uninstall` was interrupted. */
  isBeingRemoved?: boolean;
  /** If there is no record of an installation in the namespace: namespaces that have one. */
  installedIn?: string[];
  manager: { name: string; ready: number; wanted: number }[];
  pools: { kind: string; name: string; nodes: number; ready: number; hubs: number }[];
  frontDoors: { name: string; ingressClass: string; pool?: string; ready: string; addresses: string[] }[];
}

export async function readStatus(client: KubeClient, namespace: string): Promise<RemoteStatus> {
  const [inventory, deployments, nodes, nodePools, nodeGroups, routers] = await Promise.all([
    readInventory(client, namespace),
    client.list(DEPLOYMENTS, { namespace, labelSelector: PART_OF_SELECTOR }),
    client.list(NODES),
    listIfServed(client, NODE_POOLS),
    listIfServed(client, NODE_GROUPS),
    listIfServed(client, L7_ROUTERS),
  ]);
  const poolsOf = (kind: string, label: string, names: readonly (string | undefined)[]) =>
    names.map((name = '') => {
      const own = nodes.items.filter(({ metadata }) => metadata.labels?.[label] === name);
      const ready = own.filter(({ status }) => isConditionTrue(status?.conditions as never, 'Ready'));
      const hubs = own.filter(({ metadata }) => metadata.annotations?.[HUB_VERSION_ANNOTATION] !== undefined);
      return { kind, name, nodes: own.length, ready: ready.length, hubs: hubs.length };
    });
  return {
    server: client.config.server,
    namespace,
    ...(inventory === undefined
      ? { installedIn: (await findInventories(client)).map((other) => other.namespace) }
      : {
          version: inventory.version,
          changingTo: inventory.changingTo,
          isBeingRemoved: inventory.isBeingRemoved,
        }),
    manager: deployments.items.map(({ metadata, spec, status }) => ({
      name: metadata.name ?? '',
      ready: status?.readyReplicas ?? 0,
      wanted: spec?.replicas ?? 1,
    })),
    pools: [
      ...poolsOf(
        'NodePool',
        NODE_POOL_LABEL,
        nodePools.items.map(({ metadata }) => metadata.name),
      ),
      ...poolsOf(
        'NodeGroup',
        NODE_GROUP_LABEL,
        nodeGroups.items.map(({ metadata }) => metadata.name),
      ),
    ],
    frontDoors: routers.items.map(({ metadata, spec, status }) => ({
      name: metadata.name ?? '',
      ingressClass: spec.ingressClassName,
      ...(spec.pool !== undefined && { pool: spec.pool }),
      ready: getCondition(status?.conditions, 'Ready')?.status ?? 'Unknown',
      addresses: (status?.addresses ?? []).flatMap(({ ip, hostname, ports }) =>
        (ports ?? []).map(({ port }) => `${ip ?? hostname}:${port}`),
      ),
    })),
  };
}

export function statusText(status: RemoteStatus): string {
  const { server, namespace, manager, pools, frontDoors } = status;
  return [
    `Kubernetes API: ${server}. Namespace ${namespace}: ${installationText(status)}.`,
    '',
    textTable([
      ['MANAGER', 'READY'],
      ...manager.map(({ name, ready, wanted }) => [name, `${ready}/${wanted}`]),
    ]),
    '',
    textTable([
      ['POOL', 'KIND', 'NODES', 'READY', 'HUBS'],
      ...pools.map(({ name, kind, nodes, ready, hubs }) => [name, kind, `${nodes}`, `${ready}`, `${hubs}`]),
    ]),
    '',
    textTable([
      ['FRONT DOOR', 'CLASS', 'POOL', 'READY', 'ADDRESSES'],
      ...frontDoors.map(({ name, ingressClass, pool = '-', ready, addresses }) => [
        name,
        ingressClass,
        pool,
        ready,
        addresses.join(',') || '-',
      ]),
    ]),
  ].join('\n');
}

function installationText({ version, changingTo, isBeingRemoved, installedIn = [] }: RemoteStatus): string {
  if (version === undefined)
    return installedIn.length === 0
      ? 'not installed with tidegate install'
      : `not installed; Tidegate is installed in namespace ${installedIn.join(', ')}: use -n ${installedIn[0]}`;
  if (isBeingRemoved)
    return `version ${version}; its removal was interrupted: run tidegate uninstall --yes to continue it, or tidegate install to install it again`;
  if (changingTo === undefined) return `version ${version}`;
  const command = changingTo === version ? 'install' : 'upgrade';
  return `version ${version}; the change to version ${changingTo} is not complete: run tidegate ${command} again to continue it`;
}

/** Without an installation, the API server does not have the kinds of Tidegate. */
async function listIfServed<T extends KubeObject>(
  client: KubeClient,
  resource: Resource<T>,
): Promise<Pick<KubeList<T>, 'items'>> {
  try {
    return await client.list(resource);
  } catch (error) {
    if (isNotFound(error)) return { items: [] };
    throw error;
  }
}
