/**
 * What Prometheus and Grafana need, as a template of the chart. The dashboard has a panel for each metric in the reference, so a
 * new metric appears in it. Alerts contain what to do, for readers without access to the documentation. scripts/generate-deploy.js writes the template.
 */
import { stringify } from 'yaml';

/** A row of docs/reference/metrics.md. */
export interface DocumentedMetric {
  name: string;
  type: string;
  program: string;
  description: string;
}

interface Alert {
  name: string;
  expr: string;
  for: string;
  severity: 'warning' | 'critical';
  summary: string;
}

/** What to do for an alert, by its name: the sections of docs/guides/alerts.md. */
export type Runbooks = ReadonlyMap<string, string>;

/**
 * Whether a counter has increased. Counters with labels appear with their first event, and `increase` needs a value before it: an
 * event that happens once would never be reported.
 */
const increased = (counter: string, range: string): string =>
  `increase(${counter}[${range}]) > 0 or (${counter} unless ${counter} offset ${range}) > 0`;

/** A part of the manager that does not run has no metrics. */
const absentLeaders = ['pools', 'routers', 'apps']
  .map((part) => `absent(tidegate_leader_election_master_status{name="tidegate-${part}"})`)
  .join(' or ');

/** Texts have no templates of Prometheus, because Helm would try to evaluate them; the labels of the alert say where. */
export const ALERTS: readonly Alert[] = [
  {
    name: 'TidegateHubDisconnected',
    expr: 'max by (instance) (tidegate_hub_upstream_healthy) == 0',
    for: '5m',
    severity: 'warning',
    summary: 'A hub has reached no API server for five minutes. Its node works from the copies of the hub.',
  },
  {
    name: 'TidegateHubWritesDropped',
    expr: increased('tidegate_hub_journal_dropped_total', '15m'),
    for: '0m',
    severity: 'warning',
    summary: 'A hub has dropped writes of its node that no API server has applied.',
  },
  {
    name: 'TidegateHubRejectedEmptyLists',
    expr: increased('tidegate_hub_view_rejected_empty_lists_total', '15m'),
    for: '0m',
    severity: 'critical',
    summary: 'An API server has answered with an empty list where there were pods or configuration before.',
  },
  {
    name: 'TidegateRouterChangesFail',
    expr: increased('tidegate_router_apply_failures_total', '10m'),
    for: '5m',
    severity: 'critical',
    summary: 'A router cannot apply changes and serves the routes that it had before.',
  },
  {
    name: 'TidegateRouterUpstreamErrors',
    expr: 'sum by (class, service) (rate(tidegate_router_upstream_errors_total[5m])) > 0.05 * sum by (class, service) (rate(tidegate_router_requests_total[5m]))',
    for: '10m',
    severity: 'warning',
    summary:
      'More than five percent of the requests to a Service fail to reach an endpoint at the first attempt.',
  },
  {
    name: 'TidegateRouterMemoryLow',
    expr: 'tidegate_router_nginx_memory_free_bytes < 1048576',
    for: '5m',
    severity: 'warning',
    summary: 'A shared dictionary of a router is almost full. The namespaces that use the most lose entries.',
  },
  {
    name: 'TidegateManagerWithoutLeader',
    expr: `max by (name) (tidegate_leader_election_master_status) == 0 or ${absentLeaders}`,
    for: '5m',
    severity: 'critical',
    summary: 'A part of the manager has no leader, so its controllers do not run.',
  },
  {
    name: 'TidegateWebhookAbsent',
    expr: 'absent(tidegate_webhook_configuration_problems)',
    for: '5m',
    severity: 'critical',
    summary: 'No replica of the admission webhook runs, so rules are not enforced or changes are rejected.',
  },
  {
    name: 'TidegateWebhookOutdated',
    expr: 'max(tidegate_webhook_configuration_problems) > 0',
    for: '15m',
    severity: 'warning',
    summary:
      'The webhook configurations differ from what the manager expects, for example in their CA bundle.',
  },
  {
    name: 'TidegateReconcilesFail',
    expr: 'sum by (controller) (rate(tidegate_controller_runtime_reconcile_errors_total[10m])) > 0.1',
    for: '15m',
    severity: 'warning',
    summary: 'A controller of the manager fails again and again.',
  },
];

const NAMESPACE = '{{ toJson .Release.Namespace }}';
const LABELS = '{{ toJson .Values.monitoring.labels }}';

/** The template of the chart. */
export function monitoringTemplate(metrics: readonly DocumentedMetric[], runbooks: Runbooks): string {
  const named = (name: string, labels: object | string = LABELS): object => ({
    name,
    namespace: NAMESPACE,
    labels,
  });
  const rules = ALERTS.map(({ name, expr, for: duration, severity, summary }) => ({
    alert: name,
    expr,
    for: duration,
    labels: { severity },
    annotations: {
      summary,
      description: runbooks.get(name),
      runbook_url: `{{ toJson (print .Values.monitoring.runbookUrl "#${name.toLowerCase()}") }}`,
    },
  }));
  const objects = [
    {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: named('tidegate-metrics', { 'tidegate.io/metrics': 'manager' }),
      spec: {
        clusterIP: 'None',
        selector: { 'app.kubernetes.io/part-of': 'tidegate' },
        ports: [{ name: 'health', port: 8081, targetPort: 'health', protocol: 'TCP' }],
      },
    },
    {
      apiVersion: 'monitoring.coreos.com/v1',
      kind: 'ServiceMonitor',
      metadata: named('tidegate-manager'),
      spec: {
        selector: { matchLabels: { 'tidegate.io/metrics': 'manager' } },
        endpoints: [{ port: 'health', path: '/metrics' }],
      },
    },
    {
      apiVersion: 'monitoring.coreos.com/v1',
      kind: 'PodMonitor',
      metadata: named('tidegate-routers'),
      spec: {
        namespaceSelector: { any: true },
        selector: { matchExpressions: [{ key: 'networking.tidegate.io/router', operator: 'Exists' }] },
        podMetricsEndpoints: [{ targetPort: 10254, path: '/metrics' }],
      },
    },
    {
      apiVersion: 'monitoring.coreos.com/v1',
      kind: 'PrometheusRule',
      metadata: named('tidegate'),
      spec: { groups: [{ name: 'tidegate', rules }] },
    },
    {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: named('tidegate-dashboard', { grafana_dashboard: '1' }),
      data: { 'tidegate.json': JSON.stringify(dashboardOf(metrics), undefined, 1) },
    },
  ];
  const text = objects.map((object) => stringify(object, { lineWidth: 0, version: '1.1' })).join('---\n');
  // The writer of YAML quotes the braces of a template.
  const plain = text.replace(/(["'])(\{\{ toJson .*? \}\})\1$/gm, (_, __, template: string) =>
    template.replaceAll('\\"', '"'),
  );
  return `{{- if .Values.monitoring.enabled }}\n${HEADER}${plain}{{- end }}\n`;
}

const HEADER =
  '# Made by scripts/generate-deploy.js from packages/tidegate/src/install/monitoring.ts and docs/reference/metrics.md.\n# For the Prometheus Operator and Grafana. Hubs listen on loopback addresses: scrape them with an agent on the node.\n';

const WIDTH = 12;
const HEIGHT = 7;

/** One row of panels for each program, two panels side by side. */
export function dashboardOf(metrics: readonly DocumentedMetric[]): object {
  const panels: object[] = [];
  let y = 0;
  for (const program of [...new Set(metrics.map((metric) => metric.program))]) {
    panels.push({ type: 'row', title: program, gridPos: { x: 0, y: y++, w: 2 * WIDTH, h: 1 } });
    const own = metrics.filter((metric) => metric.program === program);
    own.forEach((metric, index) => {
      const gridPos = { x: (index % 2) * WIDTH, y: y + Math.floor(index / 2) * HEIGHT, w: WIDTH, h: HEIGHT };
      panels.push({
        type: 'timeseries',
        title: metric.name,
        description: metric.description,
        datasource: { type: 'prometheus', uid: '$datasource' },
        targets: [{ expr: expressionOf(metric), legendFormat: '__auto' }],
        gridPos,
      });
    });
    y += Math.ceil(own.length / 2) * HEIGHT;
  }
  return {
    title: 'Tidegate',
    uid: 'tidegate',
    schemaVersion: 39,
    templating: { list: [{ name: 'datasource', type: 'datasource', query: 'prometheus' }] },
    time: { from: 'now-1h', to: 'now' },
    panels,
  };
}

function expressionOf({ name, type }: DocumentedMetric): string {
  if (type === 'counter') return `rate(${name}[5m])`;
  if (type === 'histogram') return `histogram_quantile(0.99, sum by (le) (rate(${name}_bucket[5m])))`;
  return name;
}
