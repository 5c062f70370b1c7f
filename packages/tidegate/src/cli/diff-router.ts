import {
  ENDPOINT_SLICES,
  INGRESS_CLASSES,
  INGRESSES,
  type Ingress,
  isForbidden,
  isNotFound,
  type KubeClient,
  NODES,
  SECRETS,
  SERVICES,
  type Secret,
  silentLogger,
} from '@tidegate/kube';
import { CLUSTER_ROUTE_POLICIES, HOST_CLAIMS, L7_ROUTERS, ROUTE_POLICIES } from '../api/index.ts';
import { stepText } from '../dataplane/octavia/index.ts';
import { oneSnapshot, type SnapshotObjects } from '../ingress/index.ts';
import { type ClusterFlags, withClient } from './cluster-client.ts';
import { type OctaviaFlags, octaviaProvisioner } from './octavia.ts';
import { CommandError } from './process.ts';

/** Prints the calls that the manager would make to program a router. Returns whether there are any. */
export async function diffRouter(name: string, flags: ClusterFlags & OctaviaFlags): Promise<boolean> {
  const octavia = await octaviaProvisioner(flags, silentLogger);
  if (octavia === undefined) throw new CommandError('--router needs --octavia, as the manager has it');
  try {
    return await withClient(flags, async (client) => {
      const router = await client.get(L7_ROUTERS, { name }).catch((error) => {
        throw isNotFound(error) ? new CommandError(`L7Router ${name} does not exist`) : error;
      });
      const { provisioner } = octavia;
      if (router.spec.driver !== provisioner.driver)
        throw new CommandError(
          `L7Router ${name} has the driver ${router.spec.driver}: only routers with the driver ${provisioner.driver} have a plan`,
        );
      const objects = await readObjects(client);
      const { snapshot, refused } = oneSnapshot(router, objects, provisioner, Date.now);
      const { steps, failed } = await provisioner.preview(router, snapshot, AbortSignal.timeout(600_000));
      for (const step of steps) console.log(stepText(step));
      for (const [host, { reason, message }] of [...refused, ...failed])
        console.error(`${host || 'rules without a host'}: ${reason}: ${message}`);
      return steps.length > 0;
    });
  } finally {
    await octavia.close();
  }
}

async function readObjects(client: KubeClient): Promise<SnapshotObjects> {
  const ingresses = (await client.list(INGRESSES)).items;
  return {
    ingresses,
    classes: (await client.list(INGRESS_CLASSES)).items,
    services: (await client.list(SERVICES)).items,
    slices: (await client.list(ENDPOINT_SLICES)).items,
    claims: (await client.list(HOST_CLAIMS)).items,
    nodes: (await client.list(NODES)).items,
    routePolicies: (await client.list(ROUTE_POLICIES)).items,
    clusterRoutePolicies: (await client.list(CLUSTER_ROUTE_POLICIES)).items,
    secrets: await readSecrets(client, ingresses),
  };
}

/** A Secret that does not exist or must not be read is missing for the manager too. */
async function readSecrets(client: KubeClient, ingresses: readonly Ingress[]): Promise<Secret[]> {
  const names = new Map<string, { namespace: string; name: string }>();
  for (const { metadata, spec } of ingresses)
    for (const { secretName: name = '' } of spec?.tls ?? [])
      if (name !== '')
        names.set(`${metadata.namespace}/${name}`, { namespace: `${metadata.namespace}`, name });
  const found = await Promise.all(
    [...names.values()].map((target) =>
      client.get(SECRETS, target).catch((error) => {
        if (isNotFound(error) || isForbidden(error)) return undefined;
        throw error;
      }),
    ),
  );
  return found.filter((secret) => secret !== undefined);
}
