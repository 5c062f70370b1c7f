import {
  CONFIG_MAPS,
  type ConfigMap,
  INGRESS_CLASSES,
  INGRESSES,
  type Ingress,
  type IngressClass,
  isForbidden,
  isNotFound,
  type KubeClient,
  type KubeObject,
  keyOf,
} from '@tidegate/kube';
import type { MigrationObjects } from '../migrate/index.ts';
import { withClient } from './cluster-client.ts';
import { toIngress } from './ingress-conversion.ts';
import { readManifests } from './manifest-file.ts';
import type { MigrationFlags } from './migrate-selection.ts';
import { CommandError } from './process.ts';

/** The name that the chart of ingress-nginx and its static manifests use. */
const USUAL_CONFIG_MAP = 'ingress-nginx-controller';

/** Reads what the report needs: Ingresses, their classes, and the ConfigMap of ingress-nginx. No Secret is read. */
export const readMigrationObjects = (flags: MigrationFlags): Promise<MigrationObjects> =>
  flags.filename === undefined ? readCluster(flags) : readFiles(flags.filename, flags);

async function readFiles(paths: readonly string[], flags: MigrationFlags): Promise<MigrationObjects> {
  const manifests = (await Promise.all(paths.map(readManifests))).flat();
  const objects = manifests.flatMap(({ object }) => itemsOf(object));
  const inNamespace = <T extends KubeObject>(object: KubeObject): T => {
    const { namespace = 'default' } = object.metadata ?? {};
    return { ...object, metadata: { ...object.metadata, namespace } } as T;
  };
  const all = (kind: string): KubeObject[] => objects.filter((object) => object.kind === kind);
  return {
    ingresses: all('Ingress')
      .map((object) => inNamespace<Ingress>(isOld(object) ? toIngress(object) : object))
      .filter(({ metadata }) => flags.namespace === undefined || metadata.namespace === flags.namespace),
    classes: all('IngressClass') as IngressClass[],
    configMaps: all('ConfigMap')
      .map((object) => inNamespace<ConfigMap>(object))
      .filter((object) => isWanted(object, flags.configMap)),
  };
}

const itemsOf = (object: KubeObject): KubeObject[] =>
  object.kind.endsWith('List') && Array.isArray(object.items)
    ? (object.items as KubeObject[]).flatMap(itemsOf)
    : [object];

/** Manifests in repositories are often older than the cluster. */
const isOld = ({ apiVersion }: KubeObject): boolean => apiVersion.endsWith('/v1beta1');

const isWanted = (object: ConfigMap, wanted: string | undefined): boolean =>
  wanted === undefined ? object.metadata.name === USUAL_CONFIG_MAP : keyOf(object) === wanted;

async function readCluster(flags: MigrationFlags): Promise<MigrationObjects> {
  return withClient(flags, async (client) => ({
    ingresses: (await client.list(INGRESSES, { namespace: flags.namespace })).items,
    classes: (await client.list(INGRESS_CLASSES)).items,
    configMaps: await readConfigMaps(client, flags.configMap),
  }));
}

/** The usual ConfigMap is optional, one that the user names is not. */
async function readConfigMaps(client: KubeClient, wanted: string | undefined): Promise<ConfigMap[]> {
  if (wanted !== undefined) {
    const [namespace = '', name = ''] = wanted.split('/');
    try {
      return [await client.get(CONFIG_MAPS, { namespace, name })];
    } catch (error) {
      if (!isNotFound(error)) throw error;
      throw new CommandError(`there is no ConfigMap ${wanted}; write --config-map as namespace/name`);
    }
  }
  try {
    const fieldSelector = `metadata.name=${USUAL_CONFIG_MAP}`;
    return (await client.list(CONFIG_MAPS, { fieldSelector })).items;
  } catch (error) {
    if (isForbidden(error)) return [];
    throw error;
  }
}
