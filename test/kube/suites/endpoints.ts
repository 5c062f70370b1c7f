/** Endpoints that do not answer: packets to the address of a pod that is gone are lost, and the kernel reports it seconds later. */
import type { KubeList, Pod, Service } from '@tidegate/kube';
import { expect, test } from 'vitest';
import { ingress } from '../../story/objects.ts';
import { eventually } from '../../support/cluster.ts';
import type { RealCluster } from '../cluster/cluster.ts';

const POOL = 'hangzhou';
const NAME = 'half';
const REQUESTS = 20;

export function endpoints(cluster: () => RealCluster): void {
  const curl = (...args: string[]): Promise<string> =>
    cluster()
      .nodesOf(POOL)[0]!
      .run('curl', '-sSf', '--max-time', '60', ...args);

  test('a request at an address that has vanished is answered by the next endpoint', async () => {
    const { kubectl } = cluster();
    const { items } = await kubectl.json<KubeList<Pod>>(
      `get pods -l app=nginx,apps.tidegate.io/edition=${POOL}`,
    );
    const { metadata, spec, status } = items[0]!;
    const gone = cluster().nodesOf(POOL).at(-1)!;
    const endpoint = (address: string, node: string) => ({
      addresses: [address],
      conditions: { ready: true },
      topology: { 'kubernetes.io/hostname': node },
    });
    await kubectl.apply(
      {
        apiVersion: 'v1',
        kind: 'Service',
        metadata: { name: NAME },
        spec: { ports: [{ name: 'http', port: 80, targetPort: 8080 }] },
      },
      {
        apiVersion: 'discovery.k8s.io/v1beta1',
        kind: 'EndpointSlice',
        metadata: { name: NAME, labels: { 'kubernetes.io/service-name': NAME } },
        addressType: 'IPv4',
        ports: [{ name: 'http', port: 8080, protocol: 'TCP' }],
        endpoints: [
          endpoint(`${status?.podIP}`, `${spec?.nodeName}`),
          // No pod has it: the node gives addresses to pods in increasing order.
          endpoint(gone.options.podRange.replace('.0/24', '.250'), gone.name),
        ],
      },
      ingress(NAME, POOL, { '/': NAME }),
    );
    const door = await kubectl.json<Service>(`-n ingress-nginx get service tidegate-router-${POOL}`);
    const { address } = cluster().nodesOf(POOL)[0]!.options;
    const url = `http://${address}:${door.spec?.ports?.[0]?.nodePort}/`;
    const request = (): Promise<string> => curl('-H', `Host: ${NAME}.example.com`, url);
    await eventually('the Ingress is served', request);
    for (let i = 0; i < REQUESTS; i++)
      expect(JSON.parse(await request())).toMatchObject({ pod: metadata.name });
    // The router has given up before the kernel, which would report "No route to host".
    const log = await kubectl.run(`-n ingress-nginx logs deployment/tidegate-router-${POOL}`);
    const failed = log.split('\n').filter((line) => line.includes(`host: \\"${NAME}.example.com\\"`));
    expect(failed.length).toBeGreaterThan(0);
    for (const line of failed)
      expect(line).toContain('timed out (110: Connection timed out) while connecting');
  });
}
