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
import { restrictedProblems } from '../support/pod-security.ts';
import { finish, run } from '../support/process.ts';
import { repositoryFile } from '../support/repository.ts';

type PodSpec = NonNullable<Pod['spec']>;

const DEPLOY = repositoryFile('deploy');
const CHART = readChart(join(DEPLOY, 'chart'));
const DEFINITIONS = valueDefinitions(CHART.version);

const objectsWith = (
  settings: readonly string[],
  namespace = DEFAULT_NAMESPACE,
  hasPolicies = true,
): KubeObject[] => {
  const values = withSettings(DEFINITIONS, defaultValues(DEFINITIONS), settings);
  return objectsOf(CHART, { values, namespace }, { hasPolicies });
};

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

  it('the kustomize base with another image, as the installation guide replaces it', async () => {
    const guide = readFileSync(repositoryFile('docs/guides/install.md'), 'utf8');
    const [, sed = ''] =
      /^kubectl kustomize deploy\/base \|.*\n\s+(sed '[^']+') \| kubectl apply/m.exec(guide) ?? [];
    const command = `${findKubectl()} kustomize ${join(DEPLOY, 'base')} | ${sed}`;
    const objects = parseAllDocuments(await run(['sh', '-c', command])).map(
      (each) => each.toJS() as KubeObject,
    );
    expect(comparable(objects)).toEqual(
      comparable(objectsWith([...BASE_SETTINGS, 'image=registry.example/tidegate:0.2.0'])),
    );
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
    for (const { path } of DEFINITIONS)
      expect({
        path,
        isUsed: [` .Values.${path} }}`, ` .Values.${path} "`].some((use) => text.includes(use)),
      }).toEqual({
        path,
        isUsed: true,
      });
  });
});

describe('without policies in the API server', () => {
  it('the account of the webhook may not change webhook configurations at all', () => {
    const objects = objectsWith([], DEFAULT_NAMESPACE, false);
    expect(objects.map(({ kind }) => kind)).not.toContain('ValidatingAdmissionPolicy');
    const rules = objects
      .filter(({ kind }) => kind === 'ClusterRole' || kind === 'Role')
      .flatMap(
        (role) => (role as KubeObject & { rules?: { apiGroups?: string[]; verbs: string[] }[] }).rules ?? [],
      )
      .filter(({ apiGroups }) => apiGroups?.includes('admissionregistration.k8s.io'));
    expect(rules.flatMap(({ verbs }) => verbs)).toEqual(['get']);
  });

  it('the webhooks are those of deploy/webhooks-before-1.30.yaml, registered last', () => {
    const objects = objectsWith([], DEFAULT_NAMESPACE, false);
    expect(objects.slice(-2).map(({ kind }) => kind)).toEqual([
      'ValidatingWebhookConfiguration',
      'MutatingWebhookConfiguration',
    ]);
    const text = JSON.stringify(objects.slice(-2));
    expect(text).not.toMatch(/matchConditions|CA_BUNDLE|caBundle/);
  });
});

describe('every Deployment', () => {
  const podsOf = (settings: readonly string[]): PodSpec[] =>
    objectsWith(settings)
      .filter(({ kind }) => kind === 'Deployment')
      .map((object) => (object as { spec?: { template: { spec: PodSpec } } }).spec!.template.spec);

  it('satisfies PodSecurity restricted, and cannot write to its root file system', () => {
    for (const pod of podsOf([])) {
      expect(restrictedProblems(pod)).toEqual([]);
      for (const { securityContext } of pod.containers)
        expect(securityContext?.readOnlyRootFilesystem).toBe(true);
      for (const { name: _, ...source } of pod.volumes ?? [])
        expect(['secret', 'emptyDir']).toContain(Object.keys(source).join());
    }
    const [pod] = podsOf([]);
    expect(restrictedProblems({ ...pod!, hostNetwork: true, securityContext: {} })).toEqual([
      'host namespaces',
      'runAsNonRoot of container manager',
      'seccompProfile of container manager',
    ]);
  });

  it('has probes that a busy node does not fail', () => {
    for (const pod of podsOf([]))
      for (const { livenessProbe, readinessProbe } of pod.containers) {
        expect(livenessProbe?.timeoutSeconds).toBeGreaterThanOrEqual(10);
        expect(readinessProbe?.timeoutSeconds).toBeGreaterThanOrEqual(5);
        const { periodSeconds = 0, failureThreshold = 0 } = livenessProbe ?? {};
        expect(periodSeconds * failureThreshold).toBeGreaterThanOrEqual(60);
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
    for (const pod of podsOf(['affinity=null'])) expect(pod.affinity).toBeNull();
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

it('no role is aggregated, so that Helm and kubectl can delete the roles in any order', () => {
  // Kubernetes writes an aggregated role again when a role that it contains is deleted, also if it is deleted itself.
  const roles = objectsWith(['allNamespaces=true']).filter(({ kind }) => kind === 'ClusterRole');
  expect(roles.length).toBeGreaterThan(1);
  for (const role of roles) expect(role).not.toHaveProperty('aggregationRule');
});

it('another namespace is used everywhere', () => {
  for (const hasPolicies of [true, false]) {
    const settings = ['createNamespace=true', 'allNamespaces=true', 'monitoring.enabled=true'];
    const text = JSON.stringify(objectsWith(settings, 'elsewhere', hasPolicies));
    expect([...text.matchAll(/.{40}tidegate-system.{40}/g)].map(([found]) => found)).toEqual([]);
    expect(text).toContain('"namespace":"elsewhere"');
  }
});

interface Rule {
  alert: string;
  annotations: { description: string; runbook_url: string };
}

function alertsWith(setting: string): Rule[] {
  const rule = objectsWith(['monitoring.enabled=true', setting]).find(
    ({ kind }) => kind === 'PrometheusRule',
  );
  return (rule as KubeObject & { spec: { groups: { rules: Rule[] }[] } }).spec.groups[0]?.rules ?? [];
}

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

  it('has a runbook for each alert: what to do, and a link to the page', () => {
    const page = readFileSync(repositoryFile('docs/guides/alerts.md'), 'utf8');
    for (const { name } of ALERTS) expect(page).toContain(`\n## ${name}\n`);
    for (const url of ['docs/guides/alerts.md', 'https://wiki.example/tidegate']) {
      const alerts = alertsWith(`monitoring.runbookUrl=${url}`);
      expect(alerts.map(({ alert }) => alert)).toEqual(ALERTS.map(({ name }) => name));
      for (const { alert, annotations } of alerts) {
        expect(annotations.runbook_url).toBe(`${url}#${alert.toLowerCase()}`);
        const [first = ''] = annotations.description.split('. ');
        expect(page.replaceAll('\n', ' ')).toContain(`## ${alert}  ${first}`);
      }
    }
    // By default, it is a file that ships with the program.
    expect(alertsWith('monitoring.enabled=true')).toEqual(
      alertsWith('monitoring.runbookUrl=docs/guides/alerts.md'),
    );
    expect(() => alertsWith('monitoring.runbookUrl=docs/alerts.md')).toThrow('monitoring.runbookUrl');
  });
});

describe('the credentials of an OpenStack cloud', () => {
  const partsWith = (settings: readonly string[]) =>
    objectsWith(settings)
      .filter(({ kind }) => kind === 'Deployment')
      .map(({ metadata, spec }) => ({
        name: `${metadata.name}`,
        pod: (spec as { template: { spec: PodSpec } }).template.spec,
      }));

  it('are mounted into the part routers only', () => {
    const using = partsWith(['octavia.cluster=c', 'octavia.secret=cloud']).filter(({ pod }) =>
      JSON.stringify(pod).includes('cloud'),
    );
    expect(using.map(({ name }) => name)).toEqual(['tidegate-routers']);
    const [{ pod }] = using as [(typeof using)[number]];
    expect(pod.volumes).toContainEqual({
      name: 'openstack',
      secret: { secretName: 'cloud', optional: true, defaultMode: 0o440 },
    });
    expect(pod.containers[0]?.args?.join(' ')).toContain(
      '--octavia c --kuryr-conf  --octavia-certificates  ',
    );
  });

  it.each([
    ['octavia.cluster=Upper', 'octavia.cluster'],
    ['octavia.kuryrConf=relative.conf', 'octavia.kuryrConf'],
    ['octavia.secret=', 'octavia.secret'],
  ])('are checked: %s is refused', (setting, path) => {
    expect(() => objectsWith([setting])).toThrow(`value ${path}: `);
  });

  it('are not needed to limit the connections of the part routers', () => {
    const policy = (settings: readonly string[]) =>
      objectsWith(settings).find(({ metadata }) => metadata.name === 'tidegate-routers-egress');
    expect(policy([])).toBeUndefined();
    expect(
      policy(['networkPolicy.routersEgress=[{to: [{ipBlock: {cidr: 192.0.2.0/24}}]}]'])?.spec,
    ).toMatchObject({
      policyTypes: ['Egress'],
      egress: [{ to: [{ ipBlock: { cidr: '192.0.2.0/24' } }] }],
    });
  });
});
