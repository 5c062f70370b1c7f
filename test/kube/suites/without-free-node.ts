/** A cluster whose nodes are all in pools. It is the last suite, because routers and managers have to do without a free node. */
import type { Deployment, KubeList, KubeObject, Pod } from '@tidegate/kube';
import { expect, test } from 'vitest';
import { eventually } from '../../support/cluster.ts';
import type { RealCluster } from '../cluster/cluster.ts';

const NAMESPACE = 'tidegate-routers';

/** The classes of `services.ts` exist already. */
export function withoutFreeNode(cluster: () => RealCluster): void {
  const conditionOf = async (router: string, wanted: string): Promise<unknown> => {
    const { status } = await cluster().kubectl.json<
      KubeObject & { status?: { conditions?: { type: string }[] } }
    >(`get l7router ${router}`);
    return status?.conditions?.find(({ type }) => type === wanted);
  };

  test('routers without a pool run nevertheless and report what they cannot see, and managers stay', async () => {
    const { kubectl } = cluster();
    await kubectl.apply({
      apiVersion: 'apps.openyurt.io/v1beta2',
      kind: 'NodePool',
      metadata: { name: 'everything' },
      spec: { type: 'Cloud' },
    });
    await kubectl.run('label node cloud-1 apps.openyurt.io/nodepool=everything');
    // The new pods have no free node, and run all the same.
    await eventually('the Deployment allows nodes of pools', async () => {
      const { spec } = await kubectl.json<Deployment>(`-n ${NAMESPACE} get deployment tidegate-router-fixed`);
      const { requiredDuringSchedulingIgnoredDuringExecution: required } =
        spec?.template.spec?.affinity?.nodeAffinity ?? {};
      return required === undefined || undefined;
    });
    await kubectl.run(`-n ${NAMESPACE} rollout status deployment/tidegate-router-fixed --timeout=240s`);
    await eventually('the status reports it', async () => {
      expect(await conditionOf('fixed', 'SeesAllPools')).toMatchObject({ status: 'False' });
      expect(await conditionOf('fixed', 'Ready')).toMatchObject({ status: 'True' });
      return true;
    });
    // The manager has no other node either, and stays: otherwise, no controller could let the node leave again.
    const { items } = await kubectl.json<KubeList<Pod>>('-n tidegate-system get pods');
    for (const { metadata } of items) expect(metadata).not.toHaveProperty('deletionTimestamp');
    await kubectl.run('label node cloud-1 apps.openyurt.io/nodepool-');
    await kubectl.run('delete nodepool everything --timeout=240s');
  });
}
