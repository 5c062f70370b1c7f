/** The alert rules, evaluated by the promtool of a real Prometheus over time series as programs of Tidegate export them. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { run } from '../support/process.ts';
import { prometheusPrograms, ruleGroups } from './support/prometheus.ts';

/** In `series`, a+bxn means a and n more values with a difference of b, one per minute; `_` means that there is none. */
interface Case {
  series: Record<string, string>;
  /** Minutes after the first value. */
  at: number;
  /** The labels of the alerts that fire, besides their severity. */
  fires: Record<string, string>[];
}

const [rules] = ruleGroups().map((group) => group.rules);
const LEADERS = ['pools', 'routers', 'apps'];
const leaders = (values: Record<string, string>): Record<string, string> =>
  Object.fromEntries(
    Object.entries(values).map(([part, each]) => [
      `tidegate_leader_election_master_status{name="tidegate-${part}"}`,
      each,
    ]),
  );
const healthy = (instance: string, upstream: string): string =>
  `tidegate_hub_upstream_healthy{instance="${instance}",upstream="${upstream}"}`;

const CASES: Record<string, Record<string, Case>> = {
  TidegateHubDisconnected: {
    'fires for a hub without an API server, and not for one that reaches another': {
      series: { [healthy('a', 'x')]: '0x20', [healthy('b', 'x')]: '0x20', [healthy('b', 'y')]: '1x20' },
      at: 6,
      fires: [{ instance: 'a' }],
    },
    'waits for five minutes': { series: { [healthy('a', 'x')]: '1x5 0x20' }, at: 9, fires: [] },
  },
  TidegateHubWritesDropped: {
    'fires for the first writes, with which the counter appears': {
      series: { 'tidegate_hub_journal_dropped_total{reason="gone"}': '_x5 3x30' },
      at: 8,
      fires: [{ reason: 'gone' }],
    },
    'ends when no more writes are dropped': {
      series: { 'tidegate_hub_journal_dropped_total{reason="gone"}': '_x5 3x30' },
      at: 25,
      fires: [],
    },
    'fires for more writes': {
      series: { 'tidegate_hub_journal_dropped_total{reason="gone"}': '3x30 4x10' },
      at: 33,
      fires: [{ reason: 'gone' }],
    },
  },
  TidegateHubRejectedEmptyLists: {
    'fires for the first list': {
      series: { 'tidegate_hub_view_rejected_empty_lists_total{resource="pods"}': '_x5 1x30' },
      at: 6,
      fires: [{ resource: 'pods' }],
    },
  },
  TidegateRouterChangesFail: {
    'fires for changes that fail again and again, from the first on': {
      series: { 'tidegate_router_apply_failures_total{reason="nginx"}': '_x5 1+1x30' },
      at: 12,
      fires: [{ reason: 'nginx' }],
    },
    'does not fire for a counter that is zero': {
      series: { 'tidegate_router_apply_failures_total{reason="nginx"}': '0x30' },
      at: 12,
      fires: [],
    },
  },
  TidegateRouterUpstreamErrors: {
    'fires for a Service whose endpoints fail, and not for another': {
      series: {
        'tidegate_router_requests_total{class="c",service="bad",code="502"}': '0+60x40',
        'tidegate_router_upstream_errors_total{class="c",service="bad",kind="connect"}': '0+30x40',
        'tidegate_router_requests_total{class="c",service="good",code="200"}': '0+600x40',
        'tidegate_router_upstream_errors_total{class="c",service="good",kind="connect"}': '0+1x40',
      },
      at: 30,
      fires: [{ class: 'c', service: 'bad' }],
    },
  },
  TidegateRouterMemoryLow: {
    'fires for a dictionary that is almost full': {
      series: {
        'tidegate_router_nginx_memory_free_bytes{dictionary="routes"}': '1000x20',
        'tidegate_router_nginx_memory_free_bytes{dictionary="other"}': '9000000x20',
      },
      at: 6,
      fires: [{ dictionary: 'routes' }],
    },
  },
  TidegateManagerWithoutLeader: {
    'does not fire while each part has a leader': {
      series: leaders({ pools: '1x20', routers: '1x20', apps: '1x20' }),
      at: 10,
      fires: [],
    },
    'fires for a part whose replicas all wait': {
      series: leaders({ pools: '1x20', routers: '0x20', apps: '1x20' }),
      at: 10,
      fires: [{ name: 'tidegate-routers' }],
    },
    'fires for a part that does not run': {
      series: leaders({ pools: '1x20', routers: '1x20' }),
      at: 10,
      fires: [{ name: 'tidegate-apps' }],
    },
    'fires for each part of a manager that does not run at all': {
      series: {},
      at: 10,
      fires: LEADERS.map((part) => ({ name: `tidegate-${part}` })),
    },
  },
  TidegateWebhookAbsent: {
    'fires when no webhook runs': { series: {}, at: 6, fires: [{}] },
    'does not fire for a webhook that works': {
      series: { tidegate_webhook_configuration_problems: '0x20' },
      at: 6,
      fires: [],
    },
  },
  TidegateWebhookOutdated: {
    'fires for a CA bundle that is not current': {
      series: { 'tidegate_webhook_configuration_problems{pod="a"}': '2x30' },
      at: 16,
      fires: [{}],
    },
  },
  TidegateReconcilesFail: {
    'fires for a controller that fails all the time': {
      series: {
        'tidegate_controller_runtime_reconcile_errors_total{controller="bad"}': '0+30x60',
        'tidegate_controller_runtime_reconcile_errors_total{controller="good"}': '0+1x60',
      },
      at: 40,
      fires: [{ controller: 'bad' }],
    },
  },
};

let directory: string;
let promtool: string;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'alerts-'));
  promtool = join(await prometheusPrograms(), 'promtool');
  await writeFile(join(directory, 'rules.json'), JSON.stringify({ groups: ruleGroups() }));
});
afterAll(() => rm(directory, { recursive: true, force: true }));

it('promtool accepts the rules', async () => {
  const output = await run([promtool, 'check', 'rules', join(directory, 'rules.json')]);
  expect(output).toContain(`SUCCESS: ${rules?.length} rules found`);
});

it('there is a case that fires for each rule', () => {
  const firing = Object.keys(CASES).filter((alert) =>
    Object.values(CASES[alert] ?? {}).some(({ fires }) => fires.length > 0),
  );
  expect(firing.toSorted()).toEqual(rules?.map(({ alert }) => alert).toSorted());
});

for (const [alert, cases] of Object.entries(CASES))
  describe(alert, () => {
    it.each(Object.entries(cases))('%s', async (_, { series, at, fires }) => {
      const { labels, annotations } = rules!.find((rule) => rule.alert === alert)!;
      const test = {
        rule_files: ['rules.json'],
        evaluation_interval: '1m',
        tests: [
          {
            interval: '1m',
            input_series: Object.entries(series).map(([name, values]) => ({ series: name, values })),
            alert_rule_test: [
              {
                eval_time: `${at}m`,
                alertname: alert,
                exp_alerts: fires.map((own) => ({
                  exp_labels: { ...labels, ...own },
                  exp_annotations: annotations,
                })),
              },
            ],
          },
        ],
      };
      const file = join(directory, 'test.json');
      await writeFile(file, JSON.stringify(test));
      expect(await run([promtool, 'test', 'rules', file])).toContain('SUCCESS');
    });
  });
