/** A real Prometheus that scrapes all programs of Tidegate, with the monitors and the alert rules of the installation. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Endpoints, KubeList, Pod } from '@tidegate/kube';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { eventually } from '../../support/cluster.ts';
import type { Kubectl } from '../../support/kubectl.ts';
import { run } from '../../support/process.ts';
import type { RealCluster } from '../cluster/cluster.ts';
import { type Place, Program } from '../support/program.ts';
import { monitoringObject, prometheusPrograms, type Rule, ruleGroups } from '../support/prometheus.ts';

const NAMESPACE = 'tidegate-system';
const ADDRESS = '127.0.0.1:9090';
const NODE = 'node-a';

interface ServiceMonitor {
  selector: { matchLabels: Record<string, string> };
  endpoints: { port: string; path: string }[];
}

interface PodMonitor {
  selector: { matchExpressions: { key: string }[] };
  podMetricsEndpoints: { targetPort: number; path: string }[];
}

/**
 * The targets that the Prometheus Operator finds for the monitors. Debian's Prometheus has no discovery of its own for Kubernetes.
 * A pod without a port of that number is not a target.
 */
async function scrapeConfigs(kubectl: Kubectl): Promise<object[]> {
  const { selector, endpoints } = monitoringObject<ServiceMonitor>('ServiceMonitor').spec;
  const [service] = Object.entries(selector.matchLabels).map(([name, value]) => `${name}=${value}`);
  const slices = await kubectl.json<KubeList<Endpoints>>(`-n ${NAMESPACE} get endpoints -l ${service}`);
  const manager = endpoints.flatMap((endpoint) =>
    slices.items
      .flatMap(({ subsets = [] }) => subsets)
      .flatMap(({ addresses = [], ports = [] }) =>
        ports
          .filter(({ name }) => name === endpoint.port)
          .flatMap(({ port }) => addresses.map(({ ip }) => `${ip}:${port}`)),
      ),
  );
  const { selector: own, podMetricsEndpoints } = monitoringObject<PodMonitor>('PodMonitor').spec;
  const keys = own.matchExpressions.map(({ key }) => key).join(',');
  const pods = await kubectl.json<KubeList<Pod>>(`get pods -A -l ${keys}`);
  const routers = podMetricsEndpoints.flatMap(({ targetPort }) =>
    pods.items
      .filter(({ spec }) =>
        spec?.containers.some(({ ports = [] }) =>
          ports.some(({ containerPort }) => containerPort === targetPort),
        ),
      )
      .map(({ status }) => `${status?.podIP}:${targetPort}`),
  );
  return Object.entries({ manager, routers }).map(([job, targets]) => ({
    job_name: job,
    static_configs: [{ targets }],
  }));
}

export function monitoring(cluster: () => RealCluster): void {
  const rules = ruleGroups().flatMap((group) => group.rules);
  const metrics = [...new Set(rules.flatMap(({ expr }) => expr.match(/tidegate_\w+/g) ?? []))];
  const started: Program[] = [];
  let programs: string;

  beforeAll(async () => {
    programs = await prometheusPrograms();
    const { kubectl } = cluster();
    await kubectl.apply(monitoringObject('Service'));
    await eventually('the Service has endpoints', async () =>
      (await kubectl.run(`-n ${NAMESPACE} get endpoints tidegate-metrics -o jsonpath={.subsets}`)).includes(
        'ip',
      ),
    );
  });
  afterAll(async () => {
    for (const program of started) await program.stop();
    await cluster().kubectl.run(`-n ${NAMESPACE} delete service tidegate-metrics`);
  });

  async function start(
    place: Place,
    name: string,
    configs: object[],
  ): Promise<(path: string) => Promise<unknown>> {
    const { directory } = cluster().cloud;
    const [config, rulesFile] = [join(directory, `${name}.json`), join(directory, `${name}-rules.json`)];
    await writeFile(rulesFile, JSON.stringify({ groups: ruleGroups() }));
    const global = { scrape_interval: '1s', evaluation_interval: '1s' };
    await writeFile(config, JSON.stringify({ global, rule_files: [rulesFile], scrape_configs: configs }));
    const options = [`--config.file=${config}`, `--storage.tsdb.path=${join(directory, name)}`];
    const program = new Program(
      place,
      directory,
      [join(programs, 'prometheus'), ...options, `--web.listen-address=${ADDRESS}`],
      name,
    );
    const curl = (path: string): Promise<string> =>
      run([...place.wrapper, 'curl', '-sSf', `http://${ADDRESS}${path}`]);
    started.push(program);
    await program.start(() => curl('/-/ready'));
    return async (path) => (JSON.parse(await curl(`/api/v1/${path}`)) as { data: unknown }).data;
  }

  /** The metrics that targets have described, and the state of the rules. */
  const described = async (ask: (path: string) => Promise<unknown>): Promise<string[]> =>
    Object.keys((await ask('metadata')) as object);

  test('it finds all pods of the manager and of routers, and evaluates the rules', async () => {
    const { namespace, kubectl } = cluster().cloud;
    const ask = await start(namespace, 'prometheus', await scrapeConfigs(kubectl));
    const addresses = async (args: string): Promise<string[]> =>
      (await kubectl.json<KubeList<Pod>>(`get pods ${args}`)).items.map(({ status }) => `${status?.podIP}`);
    await eventually('all targets are up', async () => {
      const { activeTargets } = (await ask('targets?state=active')) as {
        activeTargets: { labels: { job: string; instance: string }; health: string; lastError: string }[];
      };
      const up = (job: string): string[] =>
        activeTargets
          .filter(({ labels, health }) => labels.job === job && health === 'up')
          .map(({ labels }) => labels.instance.split(':')[0] ?? '')
          .toSorted();
      expect(up('manager')).toEqual((await addresses(`-n ${NAMESPACE}`)).toSorted());
      expect(up('routers')).toEqual((await addresses('-A -l networking.tidegate.io/router')).toSorted());
      return true;
    });
    await eventually('the metrics of the rules exist', async () => {
      expect(await described(ask)).toEqual(
        expect.arrayContaining(metrics.filter((name) => !name.startsWith('tidegate_hub_'))),
      );
      return true;
    });
    await eventually('the rules are evaluated', async () => {
      const { groups } = (await ask('rules')) as {
        groups: { rules: (Rule & { name: string; health: string })[] }[];
      };
      const health = groups.flatMap((group) => group.rules).map((rule) => [rule.name, rule.health]);
      expect(health).toEqual(rules.map(({ alert }) => [alert, 'ok']));
      return true;
    });
  });

  test('on a node, it reads the metrics of the hub', async () => {
    const node = cluster().node(NODE);
    const target = { job_name: 'hub', static_configs: [{ targets: ['127.0.0.1:10267'] }] };
    const ask = await start(node, 'prometheus-on-node', [target]);
    await eventually('the metrics of the rules exist', async () => {
      expect(await described(ask)).toEqual(
        expect.arrayContaining(metrics.filter((name) => name.startsWith('tidegate_hub_'))),
      );
      return true;
    });
  });
}
