/** What the removal of Tidegate deletes, and what speaks against it. */
import {
  type DiscoveredResource,
  type KubeClient,
  type KubeObject,
  NODES,
  type Resource,
} from '@tidegate/kube';
import { HUB_VERSION_ANNOTATION } from '../api/index.ts';

/** Groups of Tidegate's kinds. OpenYurt and KubeEdge have others in them, so the kinds are named too. */
const KINDS: Readonly<Record<string, readonly string[]>> = {
  'apps.openyurt.io': ['yurtingresses', 'yurtappsets', 'yurtappdaemons', 'yurtappoverriders', 'nodepools'],
  'apps.kubeedge.io': ['edgeapplications', 'nodegroups'],
  'networking.tidegate.io': [
    'l7routers',
    'hostclaims',
    'ingressclassparameters',
    'ingressclasspolicies',
    'routerprovisioners',
    'routepolicies',
    'clusterroutepolicies',
  ],
};

/** Front doors and applications come before pools, so that they are removed from the nodes first. */
const ORDER = [
  'yurtingresses',
  'yurtappsets',
  'yurtappdaemons',
  'yurtappoverriders',
  'edgeapplications',
  'l7routers',
  'nodepools',
  'nodegroups',
];

export interface Owned {
  resource: Resource;
  kind: string;
  objects: readonly KubeObject[];
}

/** The custom resources in the cluster, in the order in which they are deleted. */
export async function customObjects(client: KubeClient, signal?: AbortSignal): Promise<Owned[]> {
  const served = await client.discovery.resources();
  const found = new Map<string, DiscoveredResource>();
  for (const resource of served)
    if (KINDS[resource.group]?.includes(resource.resource) && !found.has(resource.resource))
      found.set(resource.resource, resource);
  const rank = (name: string): number => (ORDER.includes(name) ? ORDER.indexOf(name) : ORDER.length);
  const resources = [...found.values()].toSorted((a, b) => rank(a.resource) - rank(b.resource));
  return Promise.all(
    resources.map(async (resource) => ({
      resource,
      kind: resource.kind,
      objects: (await client.list(resource, { signal })).items,
    })),
  );
}

/** The names of nodes that have a hub. */
export async function nodesWithHub(client: KubeClient, signal?: AbortSignal): Promise<string[]> {
  const { items } = await client.list(NODES, { signal });
  return items
    .filter(({ metadata }) => metadata.annotations?.[HUB_VERSION_ANNOTATION] !== undefined)
    .map(({ metadata }) => metadata.name ?? '');
}

/** Sentences for the user, before anything is deleted. */
export function lossesText(owned: readonly Owned[], keepCrds: boolean): string[] {
  const present = owned.filter(({ objects }) => objects.length > 0);
  const lines = present.map(({ kind, objects }) => {
    const names = objects
      .slice(0, 5)
      .map(({ metadata: { namespace, name } }) => (namespace === undefined ? name : `${namespace}/${name}`));
    const more = objects.length > names.length ? `, and ${objects.length - names.length} more` : '';
    return `${objects.length} ${kind}: ${names.join(', ')}${more}`;
  });
  if (lines.length === 0) return ['No objects of Tidegate exist in this cluster.'];
  return keepCrds
    ? [
        'The removal keeps these objects, with the routers and applications that exist for them, but nothing updates them:',
        ...lines,
      ]
    : [
        'The removal deletes these objects, with the routers, front doors and applications that exist for them:',
        ...lines,
      ];
}
