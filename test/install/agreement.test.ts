/** The objects of `tidegate install`, of kustomize and of the Helm chart are the same, and they are safe to run. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { isJsonMap, type KubeObject, type Pod } from '@tidegate/kube';
import { describe, expect, it } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import {
  ALERTS,
  BASE_SETTINGS,
  DEFAULT_NAMESPACE,
  defaultValues,
  OVERLAYS,
  objectsOf,
  readChart,
  valueDefinitions,
  valuesSchema,
  withSettings,
} from '../../packages/tidegate/src/install/index.ts';
import { findKubectl } from '../support/kubectl.ts';
import { finish, run } from '../support/process.ts';
import { repositoryFile } from '../support/repository.ts';

type PodSpec = NonNullable<Pod['spec']>;

const DEPLOY = repositoryFile('deploy');
const CHART = readChart(join(DEPLOY, 'chart'));
const DEFINITIONS = valueDefinitions(CHART.version);

const objectsWith = (settings: readonly string[], namespace = DEFAULT_NAMESPACE): KubeObject[] =>
  objectsOf(CHART, { values: withSettings(DEFINITIONS, defaultValues(DEFINITIONS), settings), namespace });

const kustomized = async (folder: string): Promise<KubeObject[]> =>
  parseAllDocuments(await run([findKubectl(), 'kustomize', join(DEPLOY, folder)])).map(
    (document) => document.toJS() as KubeObject,
  );

/** Objects by what identifies them, without fields that are empty: kustomize drops some of these. */
const comparable = (objects: readonly KubeObject[]): Record<string, unknown> =>
  Object.fromEntries(
    objects.map((object) => [
      [object.apiVersion, object.kind, object.metadata.namespace, object.metadata.name].join(' '),
      withoutEmpty(object),
    ]),
  );

function withoutEmpty(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutEmpty);
  if (!isJsonMap(value)) return value;
  const kept = Object.entries(value)
    .filter(([, field]) => !(typeof field === 'object' && Object.keys(field ?? {}).length === 0))
    .map(([name, field]) => [name, withoutEmpty(field)]);
  return Object.fromEntries(kept);
}

it('the generated files are current', async () => {
  const script = repositoryFile('scripts/generate-deploy.js');
  const { code, stderr } = await finish([process.execPath, script, '--check']);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
});

describe('the same objects come from', () => {
  it('the kustomize base', async () => {
    expect(comparable(await kustomized('base'))).toEqual(comparable(objectsWith(BASE_SETTINGS)));
  });

  it.each(OVERLAYS.map(({ name, settings }) => [name, settings] as const))(
    'the overlay %s',
    async (name, settings) => {
      expect(comparable(await kustomized(`overlays/${name}`))).toEqual(
        comparable(objectsWith([...BASE_SETTINGS, ...settings])),
      );
    },
  );

  it('the Helm chart with its own values', () => {
    const values = parse(readFileSync(join(DEPLOY, 'chart/values.yaml'), 'utf8'));
    expect(values).toEqual(defaultValues(DEFINITIONS));
    const schema = JSON.parse(readFileSync(join(DEPLOY, 'chart/values.schema.json'), 'utf8'));
    expect(schema).toEqual(valuesSchema(DEFINITIONS));
    // All but the namespace, which Helm creates itself.
    const names = Object.keys(comparable(objectsOf(CHART, { values, namespace: DEFAULT_NAMESPACE })));
    expect([...names, `v1 Namespace  ${DEFAULT_NAMESPACE}`].toSorted()).toEqual(
      Object.keys(comparable(objectsWith(BASE_SETTINGS))).toSorted(),
    );
  });

  it('every value: each one is used by a template', () => {
    const text = [...CHART.templates.values()].join('\n');
    for (const { path } of DEFINITIONS) expect(text).toContain(` .Values.${path} }}`);
  });
});

describe('every Deployment', () => {
  const podsOf = (settings: readonly string[]): PodSpec[] =>
    objectsWith(settings)
      .filter(({ kind }) => kind === 'Deployment')
      .map((object) => (object as { spec?: { template: { spec: PodSpec } } }).spec!.template.spec);

  it('satisfies PodSecurity restricted', () => {
    for (const pod of podsOf([])) {
      expect(pod.securityContext).toMatchObject({
        runAsNonRoot: true,
        seccompProfile: { type: 'RuntimeDefault' },
      });
      for (const { securityContext } of pod.containers)
        expect(securityContext).toEqual({
          allowPrivilegeEscalation: false,
          readOnlyRootFilesystem: true,
          capabilities: { drop: ['ALL'] },
        });
      expect([pod.hostNetwork, pod.hostPID, pod.hostIPC, pod.volumes]).toEqual([
        undefined,
        undefined,
        undefined,
        undefined,
      ]);
    }
  });

  it('does not run on nodes of pools unless it is configured, and has a priority and a spread', () => {
    for (const pod of podsOf([])) {
      const terms = pod.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution;
      expect(
        terms?.nodeSelectorTerms[0]?.matchExpressions?.map(({ key, operator }) => [key, operator]),
      ).toEqual([
        ['apps.openyurt.io/nodepool', 'DoesNotExist'],
        ['apps.kubeedge.io/belonging-to', 'DoesNotExist'],
      ]);
      expect(pod.priorityClassName).toBe('system-cluster-critical');
      expect(pod.topologySpreadConstraints?.map(({ topologyKey }) => topologyKey)).toEqual([
        'topology.kubernetes.io/zone',
        'kubernetes.io/hostname',
      ]);
    }
    for (const pod of podsOf(['affinity={}'])) expect(pod.affinity).toEqual({});
  });

  it('has a disruption budget that never blocks a drain', () => {
    const budgets = objectsWith([]).filter(({ kind }) => kind === 'PodDisruptionBudget');
    expect(budgets.map(({ metadata }) => metadata.name)).toEqual([
      'tidegate-admission',
      'tidegate-apps',
      'tidegate-pools',
      'tidegate-routers',
    ]);
    for (const budget of budgets) expect(budget).toMatchObject({ spec: { maxUnavailable: 1 } });
  });
});

it('another namespace is used everywhere', () => {
  const text = JSON.stringify(objectsWith(['createNamespace=true', 'allNamespaces=true'], 'elsewhere'));
  expect(text).not.toContain('tidegate-system');
  expect(text).toContain('"namespace":"elsewhere"');
});

describe('monitoring', () => {
  const text = JSON.stringify(
    objectsWith(['monitoring.enabled=true']).filter(({ kind }) =>
      ['PrometheusRule', 'ConfigMap'].includes(kind),
    ),
  );
  const reference = readFileSync(repositoryFile('docs/reference/metrics.md'), 'utf8');
  const documented = [...reference.matchAll(/^\| `(tidegate_\w+)`/gm)].map(([, name]) => name);
  const used = new Set(
    [...text.matchAll(/tidegate_\w+/g)].map(([name]) => name.replace(/_(bucket|sum|count)$/, '')),
  );

  it('uses only metrics that exist, and shows all of them', () => {
    expect(documented.length).toBeGreaterThan(20);
    expect([...used].toSorted()).toEqual([...documented].toSorted());
  });

  it('has a runbook for each alert', () => {
    const page = readFileSync(repositoryFile('docs/guides/alerts.md'), 'utf8');
    for (const { name } of ALERTS) {
      expect(page).toContain(`\n## ${name}\n`);
      expect(text).toContain(`docs/guides/alerts.md#${name.toLowerCase()}`);
    }
  });
});
