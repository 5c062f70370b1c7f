import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { KubeObject } from '@tidegate/kube';
import { parseAllDocuments } from 'yaml';
import { plainWebhooksIn } from './authority.ts';
import { InstallError } from './error.ts';
import { type RenderInput, renderTemplate } from './render.ts';

/** A chart as it is on disk. */
export interface Chart {
  version: string;
  /** Templates by file name. */
  templates: ReadonlyMap<string, string>;
  definitions: readonly KubeObject[];
  /** The webhook configurations for API servers without policies, with the namespace of the kustomize base. */
  plainWebhooks: readonly KubeObject[];
}

/** The template whose objects need ValidatingAdmissionPolicies. */
const POLICY_TEMPLATE = 'webhooks.yaml';

/**
 * Reads the chart in a folder: `Chart.yaml`, `templates/*.yaml` and `crds/*.yaml`. What replaces a template on an old API server
 * is next to the folder.
 */
export function readChart(folder: string): Chart {
  const [chart] = parseObjects('Chart.yaml', read(folder, 'Chart.yaml')) as unknown as {
    appVersion: string;
  }[];
  return {
    version: chart?.appVersion ?? '',
    templates: new Map(
      yamlFiles(join(folder, 'templates')).map((name) => [name, read(folder, 'templates', name)]),
    ),
    definitions: yamlFiles(join(folder, 'crds')).flatMap((name) =>
      parseObjects(name, read(folder, 'crds', name)),
    ),
    plainWebhooks: parseObjects(PLAIN_WEBHOOKS, read(folder, '..', PLAIN_WEBHOOKS)),
  };
}

const PLAIN_WEBHOOKS = 'webhooks-before-1.30.yaml';

/**
 * All objects of an installation, in the order in which they are created. `hasPolicies`: whether the API server can limit what an
 * account changes in webhook configurations. If not, the account may not change them at all.
 */
export function objectsOf(
  chart: Chart,
  input: Omit<RenderInput, 'version'>,
  { hasPolicies }: { hasPolicies: boolean } = { hasPolicies: true },
): KubeObject[] {
  const rendered = [...chart.templates]
    .filter(([name]) => hasPolicies || name !== POLICY_TEMPLATE)
    .flatMap(([name, template]) =>
      parseObjects(name, renderTemplate(name, template, { ...input, version: chart.version })),
    );
  const plain = hasPolicies
    ? []
    : chart.plainWebhooks.map((object) => plainWebhooksIn(object, input.namespace));
  return inOrder([...chart.definitions, ...rendered, ...plain]);
}

/**
 * What other kinds need comes first. Kinds that are not in the list come last: webhooks among them, because rules that fail closed
 * would block changes until the manager answers.
 */
const ORDER = [
  'Namespace',
  'CustomResourceDefinition',
  'ValidatingAdmissionPolicy',
  'ValidatingAdmissionPolicyBinding',
  'ServiceAccount',
  'Secret',
  'ConfigMap',
  'Lease',
  'ClusterRole',
  'ClusterRoleBinding',
  'Role',
  'RoleBinding',
  'NetworkPolicy',
  'Service',
  'PodDisruptionBudget',
  'Deployment',
];

const rank = ({ kind }: KubeObject): number => (ORDER.includes(kind) ? ORDER.indexOf(kind) : ORDER.length);

/** The order of creation; deletion uses the reverse order. The sort keeps the order within a kind. */
export const inOrder = <T extends KubeObject>(objects: readonly T[]): T[] =>
  objects.toSorted((a, b) => rank(a) - rank(b));

function parseObjects(file: string, text: string): KubeObject[] {
  return parseAllDocuments(text).flatMap((document) => {
    const [error] = document.errors;
    if (error !== undefined) throw new InstallError(`${file}: ${error.message.split('\n')[0]}`);
    const object = document.toJS() as KubeObject | null;
    return object === null ? [] : [object];
  });
}

const yamlFiles = (folder: string): string[] =>
  readdirSync(folder)
    .filter((name) => name.endsWith('.yaml'))
    .toSorted();

const read = (...path: string[]): string => readFileSync(join(...path), 'utf8');
