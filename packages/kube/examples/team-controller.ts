import { Applier, CONFIG_MAPS, Controller, Informers, type KubeClient, NAMESPACES } from '@tidegate/kube';

const TEAM_LABEL = 'example.com/team';
const CONFIG_MAP = 'team';

/** Gives every namespace with the label `example.com/team` a ConfigMap `team`, and restores it when it is changed. */
export async function runTeamController(client: KubeClient, signal: AbortSignal): Promise<void> {
  const informers = new Informers(client);
  const namespaces = informers.for(NAMESPACES);
  const configMaps = informers.for(CONFIG_MAPS, { fieldSelector: `metadata.name=${CONFIG_MAP}` });
  const applier = new Applier(client, 'team-controller');

  // Called with the name of a namespace, whatever the reason. It compares the desired state with the current one.
  const reconcile = async (name: string): Promise<void> => {
    const namespace = namespaces.cache.get(name);
    const team = namespace?.metadata.labels?.[TEAM_LABEL];
    if (namespace === undefined || namespace.metadata.deletionTimestamp !== undefined) return;
    const current = configMaps.cache.get(`${name}/${CONFIG_MAP}`);
    if (team === undefined) {
      if (current !== undefined) await client.delete(CONFIG_MAPS, { namespace: name, name: CONFIG_MAP });
    } else if (current?.data?.team !== team) {
      await applier.apply({
        apiVersion: 'v1',
        kind: 'ConfigMap',
        metadata: { namespace: name, name: CONFIG_MAP },
        data: { team },
      });
    }
  };

  const controller = new Controller({ name: 'team', reconcile, concurrency: 4 })
    .watch(namespaces)
    .watch(configMaps, (configMap) => [configMap.metadata.namespace ?? '']);
  await Promise.all([informers.run(signal), controller.run(signal)]);
}
