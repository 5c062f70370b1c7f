/** The kustomize base and its overlays, from the templates of the chart. scripts/generate-deploy.js writes them. */
import { isJsonMap, type JsonMap, jsonEqual, type KubeObject } from '@tidegate/kube';
import { stringify } from 'yaml';
import { type Chart, objectsOf } from './chart.ts';
import { renderTemplate } from './render.ts';
import { defaultValues, type Values, withSettings } from './set-values.ts';
import type { ValueDefinition } from './values.ts';

/** The namespace of the base. */
export const DEFAULT_NAMESPACE = 'tidegate-system';

/** The base contains the namespace, because kustomize does not create it. */
export const BASE_SETTINGS: readonly string[] = ['createNamespace=true'];

export interface Overlay {
  readonly name: string;
  readonly description: string;
  /** What the overlay sets in addition to the base. */
  readonly settings: readonly string[];
}

export const OVERLAYS: readonly Overlay[] = [
  {
    name: 'all-namespaces',
    description:
      'Grants to Tidegate in all namespaces what each namespace otherwise grants itself. Use it only if one team owns the whole cluster.',
    settings: ['allNamespaces=true'],
  },
  {
    name: 'edge-nodes',
    description: 'Lets the manager run on nodes of pools, for clusters whose nodes are all in pools.',
    settings: ['affinity=null'],
  },
  {
    name: 'ingress-nginx',
    description: 'Lets front doors run ingress-nginx. Replace the image by the one that you use.',
    settings: ['ingressNginx.image=registry.example/ingress-nginx/controller:v1.11.2'],
  },
  {
    name: 'monitoring',
    description: 'Adds monitors and alert rules for the Prometheus Operator, and a Grafana dashboard.',
    settings: ['monitoring.enabled=true'],
  },
  {
    name: 'octavia',
    description:
      'Lets routers be load balancers of OpenStack Octavia. Replace the name of the cluster, and create the Secret tidegate-openstack with clouds.yaml.',
    settings: ['octavia.cluster=my-cluster'],
  },
];

const HEADER = '# Made by scripts/generate-deploy.js from deploy/chart: change it there.\n';

interface Source {
  chart: Chart;
  definitions: readonly ValueDefinition[];
}

/** The files of the base, by their path below deploy/. */
export function baseFiles(source: Source): Map<string, string> {
  const files = rendered(source, valuesOf(source, []));
  const resources = ['../crds', ...files.keys()];
  return new Map([
    ['base/kustomization.yaml', kustomization({ resources })],
    ...[...files].map(([name, text]): [string, string] => [`base/${name}`, HEADER + text]),
  ]);
}

/** The files of an overlay: objects that the base does not have, and patches of those that differ. */
export function overlayFiles(source: Source, { name, description, settings }: Overlay): Map<string, string> {
  const values = valuesOf(source, settings);
  const base = rendered(source, valuesOf(source, []));
  const added = [...rendered(source, values)].filter(([file]) => !base.has(file));
  const patches = patchesBetween(
    objectsOf(source.chart, { values: valuesOf(source, []), namespace: DEFAULT_NAMESPACE }),
    objectsOf(source.chart, { values, namespace: DEFAULT_NAMESPACE }),
  );
  const folder = `overlays/${name}`;
  const lines = {
    resources: ['../../base', ...added.map(([file]) => file)],
    ...(patches.length > 0 && { patches: [{ path: 'patches.yaml' }] }),
  };
  return new Map([
    [`${folder}/kustomization.yaml`, kustomization(lines, `# ${description}\n`)],
    ...added.map(([file, text]): [string, string] => [`${folder}/${file}`, HEADER + text]),
    ...(patches.length === 0
      ? []
      : [[`${folder}/patches.yaml`, HEADER + patches.map(asYaml).join('---\n')] as [string, string]]),
  ]);
}

/** deploy/crds as a kustomize resource. */
export const definitionsKustomization = (files: readonly string[]): string =>
  kustomization({ resources: files });

const valuesOf = ({ definitions }: Source, settings: readonly string[]): Values =>
  withSettings(definitions, defaultValues(definitions), [...BASE_SETTINGS, ...settings]);

/** The templates whose condition is met, by file name. */
function rendered({ chart }: Source, values: Values): Map<string, string> {
  const input = { values, namespace: DEFAULT_NAMESPACE, version: chart.version };
  return new Map(
    [...chart.templates]
      .map(([name, template]): [string, string] => [name, renderTemplate(name, template, input)])
      .filter(([, text]) => text !== ''),
  );
}

function patchesBetween(before: readonly KubeObject[], after: readonly KubeObject[]): object[] {
  return after.flatMap((object) => {
    const old = before.find((each) => identity(each) === identity(object));
    if (old === undefined || jsonEqual(old, object)) return [];
    const { apiVersion, kind, metadata } = object;
    const { name, namespace } = metadata;
    return [{ apiVersion, kind, metadata: { name, namespace }, ...difference(old, object) }];
  });
}

const identity = ({ apiVersion, kind, metadata }: KubeObject): string =>
  [apiVersion, kind, metadata.namespace, metadata.name].join(' ');

/** A strategic merge patch. Lists whose items have names are merged by name; all others are replaced. */
function difference(before: object, after: object): JsonMap {
  const patch: JsonMap = {};
  for (const [key, value] of Object.entries(after)) {
    const old = (before as JsonMap)[key];
    if (jsonEqual(old, value)) continue;
    if (isJsonMap(old) && isJsonMap(value)) patch[key] = difference(old, value);
    else if (isNamedList(old) && isNamedList(value))
      patch[key] = value
        .map((item) => [item, old.find(({ name }) => name === item.name)] as const)
        .filter(([item, was]) => !jsonEqual(item, was))
        .map(([item, was]) => ({ name: item.name, ...(was === undefined ? item : difference(was, item)) }));
    else patch[key] = value;
  }
  return patch;
}

const isNamedList = (value: unknown): value is { name: string }[] =>
  Array.isArray(value) && value.every((item) => isJsonMap(item) && typeof item.name === 'string');

const asYaml = (value: object): string => stringify(value, { lineWidth: 0, version: '1.1' });

const kustomization = (fields: object, comment = ''): string =>
  `${HEADER}${comment}${asYaml({ apiVersion: 'kustomize.config.k8s.io/v1beta1', kind: 'Kustomization', ...fields })}`;
