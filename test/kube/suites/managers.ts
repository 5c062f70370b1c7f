/** Where the manager runs, and what happens to a manager at a site whose link is cut. */
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Deployment, KubeList, Pod } from '@tidegate/kube';
import { afterAll, expect, test } from 'vitest';
import { eventually } from '../../support/cluster.ts';
import type { RealCluster } from '../cluster/cluster.ts';

const NAMESPACE = 'tidegate-system';
const SITE = 'beijing';
const NODE = 'node-d';
const EXTRA = 'manager-at-the-edge';
const CALLS = 20;

export function managers(cluster: () => RealCluster): void {
  const kubectl = (args: string): Promise<string> => cluster().kubectl.run(args);
  const extra = (): Promise<Pod> => cluster().kubectl.json<Pod>(`-n ${NAMESPACE} get pod ${EXTRA}`);
  const isReady = ({ status }: Pod): string | undefined =>
    status?.conditions?.find(({ type }) => type === 'Ready')?.status;
  afterAll(async () => {
    await cluster().mend(SITE);
    await kubectl(`-n ${NAMESPACE} delete pod ${EXTRA} --ignore-not-found`);
  });

  test('all managers run on nodes outside of pools, also new ones', async () => {
    await kubectl(`-n ${NAMESPACE} scale deployment tidegate-admission --replicas=3`);
    await kubectl(`-n ${NAMESPACE} rollout status deployment/tidegate-admission --timeout=240s`);
    const { items } = await cluster().kubectl.json<KubeList<Pod>>(`-n ${NAMESPACE} get pods`);
    expect(new Set(items.map(({ spec }) => spec?.nodeName))).toEqual(new Set(['cloud-1']));
    await kubectl(`-n ${NAMESPACE} scale deployment tidegate-admission --replicas=2`);
  });

  test('a manager at a site can be started there by hand', async () => {
    const { spec } = await cluster().kubectl.json<Deployment>(
      `-n ${NAMESPACE} get deployment tidegate-admission`,
    );
    const { affinity, ...pod } = spec!.template.spec!;
    await cluster().kubectl.apply({
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: EXTRA, namespace: NAMESPACE, labels: spec!.template.metadata?.labels },
      // Managers leave a node that is unreachable after half a minute. This one stays.
      spec: { ...pod, nodeName: NODE, tolerations: [{ operator: 'Exists' }] },
    });
    await eventually('the manager is ready', async () => isReady(await extra()) === 'True' || undefined);
  });

  test('cut: it stops to be an endpoint of the webhook, while other pods of the site stay ready', async () => {
    await cluster().cut(SITE);
    await eventually('the manager is not ready', async () => isReady(await extra()) === 'False' || undefined);
    const address = (await extra()).status?.podIP;
    await eventually('the webhook has other endpoints only', async () => {
      const endpoints = await kubectl(
        `-n ${NAMESPACE} get endpoints tidegate-webhook -o jsonpath={.subsets[*].addresses}`,
      );
      expect(endpoints).not.toContain(`"${address}"`);
      return true;
    });
    const { items } = await cluster().kubectl.json<KubeList<Pod>>(
      `get pods -l apps.tidegate.io/edition=${SITE}`,
    );
    expect(items.length).toBeGreaterThan(0);
    for (const pod of items) expect(isReady(pod), `${pod.metadata.name}`).toBe('True');
  });

  test('cut: it is not called, so nodes are protected all the time', async () => {
    // The webhook of nodes fails open: a single call of a manager that does not answer would let the label pass.
    for (let i = 0; i < CALLS; i++)
      await expect(
        kubectl(
          '--as system:node:node-a --as-group system:nodes label node node-a apps.openyurt.io/desired-nodepool=other --overwrite --dry-run=server',
        ),
      ).rejects.toThrow('it decides to which pool the node belongs');
  });

  test('cut: a container that starts without an API server waits for it, and then reads the copies of the hub', async () => {
    const node = cluster().node(NODE);
    const { metadata, status } = await extra();
    const containers = (): Promise<string[]> => node.containers(`${metadata.uid}`);
    const [before] = await containers();
    await node.hub.stop();
    await node.ctr('tasks', 'kill', '--signal', 'SIGKILL', `${before}`);
    const started = await eventually('another container runs', async () => {
      const [now] = await containers();
      return now !== before && now;
    });
    // The kubelet starts it in the same sandbox, so its address stays.
    const answers = (what: string, answer: RegExp): Promise<true> =>
      eventually(what, async () => {
        expect(await node.run('curl', '-sS', `http://${status?.podIP}:8081/readyz`)).toMatch(answer);
        return true;
      });
    // A request has failed by then. The manager would have exited.
    await answers('it reports what it waits for', /the API server at \S+ is unreachable/);
    expect(await containers(), await logOf(metadata.uid)).toEqual([started]);
    await node.startHub();
    // The webhook itself may need more than the hub has copies of. Then it waits until the link is back.
    await answers('it has read nodes and pools', /^ok$|^not ready\nthe admission webhook is not ready yet/);
    expect(await containers(), await logOf(metadata.uid)).toEqual([started]);
  });

  test('mended: the same container becomes ready, without another restart', async () => {
    const { metadata } = await extra();
    const [container] = await cluster().node(NODE).containers(`${metadata.uid}`);
    await cluster().mend(SITE);
    await eventually('the manager is ready', async () => isReady(await extra()) === 'True' || undefined);
    const { status } = await extra();
    expect(status?.containerStatuses, await logOf(metadata.uid)).toMatchObject([
      { containerID: `containerd://${container}`, restartCount: 1 },
    ]);
  });

  /** What the containers of the manager have logged, for the message of a failed assertion. */
  async function logOf(uid: string | undefined): Promise<string> {
    const folder = join(cluster().node(NODE).directory, `log/pods/${NAMESPACE}_${EXTRA}_${uid}`, 'manager');
    const files = (await readdir(folder)).sort();
    return (await Promise.all(files.map((file) => readFile(join(folder, file), 'utf8')))).join('\n');
  }
}
