/** What an installation would break. Each function returns sentences that say what is wrong and what to do. */
import {
  isNotFound,
  type KubeClient,
  type KubeObject,
  NAMESPACES,
  NODES,
  type Resource,
} from '@tidegate/kube';
import { NODE_GROUP_LABEL, NODE_POOL_LABEL } from '../api/index.ts';
import { foreignControllers } from './foreign.ts';
import { helmRelease } from './helm.ts';
import { findInventories, type Inventory } from './inventory.ts';
import { isOfKubernetes, occupiedNamespaces } from './occupied.ts';
import type { Step } from './plan.ts';
import { type Values, valueAt } from './set-values.ts';
import { upgradeProblem } from './versions.ts';

export interface Situation {
  client: KubeClient;
  namespace: string;
  version: string;
  inventory: Inventory | undefined;
  values: Values;
  steps: readonly Step[];
  /** Whether the user asked for another version: `tidegate upgrade`. */
  upgrade: boolean;
}

/** Everything that speaks against the installation, in the order in which a user should look at it. */
export async function refusals(situation: Situation): Promise<string[]> {
  const { client } = situation;
  return [
    ...(await terminating(situation)),
    ...(await otherInstallations(situation)),
    ...(await unsuitableNamespace(situation)),
    ...versionProblems(situation),
    ...(await managedByHelm(situation)),
    ...(await lostVersions(situation)),
    ...(await foreignControllers(client)),
    ...(await nowhereToRun(situation)),
  ];
}

/** Nothing can be created in a namespace that is being deleted, for example by an earlier `tidegate uninstall`. */
async function terminating({ client, steps }: Situation): Promise<string[]> {
  const wanted = new Set(steps.filter(({ object }) => object.kind === 'Namespace').map(nameIn));
  const { items } = await client.list(NAMESPACES);
  return items
    .filter(({ metadata }) => wanted.has(metadata.name) && metadata.deletionTimestamp !== undefined)
    .map(
      ({ metadata }) =>
        `namespace ${metadata.name} is being deleted: wait until it is gone, and run the command again`,
    );
}

const nameIn = ({ object }: Step): string | undefined => object.metadata.name;

async function otherInstallations({ client, namespace }: Situation): Promise<string[]> {
  return (await findInventories(client))
    .filter((inventory) => inventory.namespace !== namespace)
    .map(
      (inventory) =>
        `Tidegate ${inventory.version} is installed in namespace ${inventory.namespace}: a cluster has one installation. Use --namespace ${inventory.namespace}`,
    );
}

/** The namespace of the manager gets restrictions that other programs would not survive. */
async function unsuitableNamespace({ client, namespace, inventory }: Situation): Promise<string[]> {
  if (inventory !== undefined) return [];
  if (isOfKubernetes(namespace))
    return [
      `namespace ${namespace} belongs to Kubernetes, and an installation allows restricted pods only: use a namespace for Tidegate alone`,
    ];
  return (await occupiedNamespaces(client, [namespace])).map(({ text, todo }) => `${text}: ${todo}`);
}

function versionProblems({ inventory, version, upgrade }: Situation): string[] {
  if (inventory === undefined)
    return upgrade ? ['Tidegate is not installed in this namespace: run tidegate install'] : [];
  // A change that was broken off may have reached the newer version already.
  const { version: installed, changingTo = installed } = inventory;
  const problem = upgradeProblem(installed, version) ?? upgradeProblem(changingTo, version);
  if (problem !== undefined) return [problem];
  return installed === version || upgrade
    ? []
    : [`version ${installed} is installed: run tidegate upgrade to change it to ${version}`];
}

/** Helm would overwrite the objects with the next upgrade, and delete them with the release. */
async function managedByHelm({ client, steps }: Situation): Promise<string[]> {
  const existing = steps.filter(({ action, resource }) => action !== 'create' && resource !== undefined);
  for (const { object, resource } of existing) {
    const target = { name: object.metadata.name ?? '', namespace: object.metadata.namespace };
    const found = helmRelease([await client.get(resource as Resource, target)]);
    if (found !== undefined)
      return [
        `${found.object} belongs to the Helm release ${found.release}: change the installation with helm upgrade`,
      ];
  }
  return [];
}

interface Definition extends KubeObject {
  spec?: { versions?: { name: string; served: boolean }[] };
  status?: { storedVersions?: string[] };
}

/** A definition that another project has installed may serve versions that Tidegate does not know. */
async function lostVersions({ client, steps }: Situation): Promise<string[]> {
  const problems: string[] = [];
  for (const { object, resource } of steps) {
    if (object.kind !== 'CustomResourceDefinition' || resource === undefined) continue;
    const { name = '' } = object.metadata;
    const live = await client.get(resource as Resource<Definition>, { name }).catch((error: unknown) => {
      if (isNotFound(error)) return undefined;
      throw error;
    });
    const known = ((object as Definition).spec?.versions ?? []).map((version) => version.name);
    const used = new Set([
      ...(live?.status?.storedVersions ?? []),
      ...(live?.spec?.versions ?? []).filter(({ served }) => served).map((version) => version.name),
    ]);
    const lost = [...used].filter((version) => !known.includes(version));
    if (lost.length > 0)
      problems.push(
        `CustomResourceDefinition ${name} serves ${lost.join(', ')}, which this version of Tidegate does not know: objects of these versions would be lost. Migrate them to ${known.join(' or ')} first`,
      );
  }
  return problems;
}

/** By default, the manager does not run on nodes of pools. */
async function nowhereToRun({ client, values }: Situation): Promise<string[]> {
  if (Object.keys((valueAt(values, 'affinity') ?? {}) as object).length === 0) return [];
  const { items } = await client.list(NODES);
  const isFree = ({ metadata }: KubeObject): boolean =>
    metadata.labels?.[NODE_POOL_LABEL] === undefined && metadata.labels?.[NODE_GROUP_LABEL] === undefined;
  if (items.length === 0 || items.some(isFree)) return [];
  return [
    `all ${items.length} nodes are in pools, and the manager does not run on nodes of pools: add a node that is in no pool, or allow it with --set affinity=null`,
  ];
}
