/** Controllers of other projects that work on the same kinds as Tidegate. Both would undo each other's work. */
import { DEPLOYMENTS, type KubeClient } from '@tidegate/kube';

interface Foreign {
  /** The name of the Deployment. */
  deployment: RegExp;
  project: string;
  what: string;
}

const FOREIGN: readonly Foreign[] = [
  {
    deployment: /^yurt-(manager|app-manager|controller-manager)$/,
    project: 'OpenYurt',
    what: 'it manages NodePools and YurtIngresses',
  },
  {
    deployment: /^(cloudcore|kubeedge-controller-manager|controller-manager)$/,
    project: 'KubeEdge',
    what: 'its controller manager manages NodeGroups and EdgeApplications',
  },
];

/** The namespaces in which the name of a Deployment is a sign of the project. */
const NAMESPACES = /^(kube-system|kubeedge|openyurt|yurt-.*)$/;

/** One sentence for each controller that runs. */
export async function foreignControllers(client: KubeClient, signal?: AbortSignal): Promise<string[]> {
  const { items } = await client.list(DEPLOYMENTS, { signal });
  return items.flatMap(({ metadata, spec }) => {
    const { name = '', namespace = '' } = metadata;
    const found = FOREIGN.find(({ deployment }) => deployment.test(name) && NAMESPACES.test(namespace));
    if (found === undefined || spec?.replicas === 0) return [];
    return [
      `Deployment ${namespace}/${name} of ${found.project} is running, and ${found.what}: scale it to 0 first, see docs/guides/migrate.md`,
    ];
  });
}
