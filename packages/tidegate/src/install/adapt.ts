/** Objects as an older API server knows them. What a server supports is found with discovery, never by its version. */
import type { KubeClient, KubeObject } from '@tidegate/kube';

/** Kinds that had an earlier version with the same fields. */
const EARLIER: Readonly<Record<string, string>> = {
  'policy/v1 PodDisruptionBudget': 'policy/v1beta1',
};

export async function adaptToServer(
  client: KubeClient,
  objects: readonly KubeObject[],
): Promise<KubeObject[]> {
  const served = new Set(
    (await client.discovery.resources()).map(({ group, version, kind }) =>
      [group === '' ? version : `${group}/${version}`, kind].join(' '),
    ),
  );
  return objects.map((object) => {
    const kind = `${object.apiVersion} ${object.kind}`;
    const earlier = EARLIER[kind];
    const usesEarlier = earlier !== undefined && !served.has(kind) && served.has(`${earlier} ${object.kind}`);
    return usesEarlier ? { ...object, apiVersion: earlier } : object;
  });
}
