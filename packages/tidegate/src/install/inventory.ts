/**
 * What is installed: a ConfigMap with the version, the values that the user has set, and the names of all objects. It is
 * written before the first object and again after the last one, so that an installation that was broken off can be
 * continued, and everything that it created can be found and deleted.
 */
import {
  Applier,
  CONFIG_MAPS,
  isJsonMap,
  isNotFound,
  type KubeClient,
  type KubeObject,
} from '@tidegate/kube';
import { InstallError } from './error.ts';
import type { Values } from './set-values.ts';

export const FIELD_MANAGER = 'tidegate-install';
export const INVENTORY_NAME = 'tidegate-installation';
const INVENTORY_LABEL = 'tidegate.io/installation';

/** What identifies an object. */
export interface ObjectName {
  apiVersion: string;
  kind: string;
  namespace?: string;
  name: string;
}

export interface Inventory {
  namespace: string;
  version: string;
  /** The version that the current change leads to, while it is not complete. */
  changingTo?: string;
  /** Whether `tidegate uninstall` has started. */
  isBeingRemoved?: boolean;
  values: Values;
  objects: readonly ObjectName[];
  /** Namespaces that the installation has created; others are never deleted. */
  createdNamespaces: readonly string[];
}

export const nameOf = ({ apiVersion, kind, metadata }: KubeObject): ObjectName => ({
  apiVersion,
  kind,
  ...(metadata.namespace !== undefined && { namespace: metadata.namespace }),
  name: metadata.name ?? '',
});

/** The version of an API can change between releases, the object is the same. */
export const identityOf = ({ apiVersion, kind, namespace = '', name }: ObjectName): string =>
  [apiVersion.includes('/') ? apiVersion.split('/')[0] : '', kind, namespace, name].join(' ');

export const textOf = ({ kind, namespace, name }: ObjectName): string =>
  `${kind} ${namespace === undefined ? '' : `${namespace}/`}${name}`;

/** The installations of the cluster; there should be at most one. */
export async function findInventories(client: KubeClient): Promise<Inventory[]> {
  const { items } = await client.list(CONFIG_MAPS, { labelSelector: INVENTORY_LABEL });
  return items.map((item) => parseInventory(item));
}

export async function readInventory(client: KubeClient, namespace: string): Promise<Inventory | undefined> {
  try {
    return parseInventory(await client.get(CONFIG_MAPS, { namespace, name: INVENTORY_NAME }));
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}

export async function writeInventory(
  client: KubeClient,
  inventory: Inventory,
  signal?: AbortSignal,
): Promise<void> {
  await new Applier(client, FIELD_MANAGER).apply(
    {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: {
        name: INVENTORY_NAME,
        namespace: inventory.namespace,
        labels: { [INVENTORY_LABEL]: 'true', 'app.kubernetes.io/part-of': 'tidegate' },
      },
      data: {
        version: inventory.version,
        ...(inventory.changingTo !== undefined && { changingTo: inventory.changingTo }),
        ...(inventory.isBeingRemoved && { isBeingRemoved: 'true' }),
        values: JSON.stringify(inventory.values),
        objects: JSON.stringify(inventory.objects),
        createdNamespaces: JSON.stringify(inventory.createdNamespaces),
      },
    } as KubeObject,
    { resource: CONFIG_MAPS, signal },
  );
}

function parseInventory({ metadata, data = {} }: KubeObject & { data?: Record<string, string> }): Inventory {
  const namespace = metadata.namespace ?? '';
  const parsed = (field: string): unknown => {
    try {
      return JSON.parse(data[field] ?? '');
    } catch (cause) {
      throw new InstallError(
        `ConfigMap ${namespace}/${metadata.name}: data.${field} is not valid JSON. It records what is installed: restore it, or delete it and install again`,
        { cause },
      );
    }
  };
  const values = parsed('values');
  return {
    namespace,
    version: data.version ?? '',
    changingTo: data.changingTo,
    isBeingRemoved: data.isBeingRemoved === 'true',
    values: isJsonMap(values) ? values : {},
    objects: parsed('objects') as ObjectName[],
    createdNamespaces: parsed('createdNamespaces') as string[],
  };
}
