/** Which nodes a cluster has: the example, a list of names, or a file. */

import { labelKeyProblems, labelValueProblems } from '@tidegate/kube';
import { parse } from 'yaml';
import { SupervisorError } from './error.ts';

export interface NodeLayout {
  name: string;
  labels: Record<string, string>;
}

/** Addresses 127.X.0.1 to 127.X.0.250, and as many blocks of pod addresses. */
const MOST_NODES = 250;
/** Names of other processes of the cluster. */
const RESERVED = ['apiserver', 'controllers', 'manager', 'supervisor'];
/** How the hub of a node is called among the processes. */
export const hubOf = (node: string): string => `hub-${node}`;
const NODE_NAME = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/;

/** Two sites: what the first `up` lays out when nobody says otherwise. */
export const exampleLayout = (): NodeLayout[] => [
  { name: 'node-a', labels: { location: 'hangzhou' } },
  { name: 'node-b', labels: { location: 'hangzhou' } },
  { name: 'node-c', labels: { location: 'beijing' } },
  { name: 'node-d', labels: { location: 'beijing' } },
  { name: 'node-e', labels: { location: 'beijing' } },
];

/** `a,b,c`, or how many: `5` is node-1 to node-5. Nodes that exist keep their labels, since a name says nothing of them. */
export function layoutFromNames(text: string, existing: readonly NodeLayout[]): NodeLayout[] {
  const where = '--nodes';
  const names = /^\d+$/.test(text)
    ? Array.from({ length: Math.min(Number(text), MOST_NODES + 1) }, (_, i) => `node-${i + 1}`)
    : text.split(',').map((name) => name.trim());
  const labels = new Map(existing.map((node) => [node.name, node.labels]));
  return checkNodes(
    names.map((name) => ({ name, labels: labels.get(name) ?? {} })),
    where,
  );
}

/** The text of a layout file: `nodes: [{ name: node-a, labels: { location: hangzhou } }]`. */
export function layoutFromFile(file: string, text: string): NodeLayout[] {
  const root = mapping(parseYaml(file, text), file, '');
  onlyFields(root, ['nodes'], file, '');
  if (!Array.isArray(root.nodes)) {
    throw wrong(file, 'nodes', 'must be a list such as [{ name: node-a, labels: { location: hangzhou } }]');
  }
  const nodes = root.nodes.map((item: unknown, i): NodeLayout => {
    const path = `nodes[${i}]`;
    const node = mapping(item, file, path);
    onlyFields(node, ['name', 'labels'], file, path);
    if (typeof node.name !== 'string')
      throw wrong(file, `${path}.name`, 'must be a string; every node needs a name');
    return { name: node.name, labels: labelsOf(node.labels, file, `${path}.labels`) };
  });
  return checkNodes(nodes, file);
}

function labelsOf(value: unknown, file: string, path: string): Record<string, string> {
  if (value === undefined || value === null) return {};
  const labels: Record<string, string> = {};
  for (const [key, text] of Object.entries(mapping(value, file, path))) {
    if (typeof text !== 'string') throw wrong(file, `${path}.${key}`, 'must be a string; put it in quotes');
    const problem = [...labelKeyProblems(key), ...labelValueProblems(text)][0];
    if (problem !== undefined) throw wrong(file, `${path}.${key}`, problem);
    labels[key] = text;
  }
  return labels;
}

function checkNodes(nodes: NodeLayout[], where: string): NodeLayout[] {
  if (nodes.length > MOST_NODES) {
    throw new SupervisorError(`${where}: a cluster has at most ${MOST_NODES} nodes`);
  }
  const seen = new Set<string>();
  const processes = new Set([...RESERVED, ...nodes.map(({ name }) => hubOf(name))]);
  for (const { name } of nodes) {
    if (!NODE_NAME.test(name)) {
      throw new SupervisorError(
        `${where}: ${JSON.stringify(name)} can not be the name of a node: use lower case letters, digits and '-', at most 63 characters`,
      );
    }
    if (processes.has(name)) {
      throw new SupervisorError(
        `${where}: a node can not be called ${name}, since another process of the cluster is`,
      );
    }
    if (seen.has(name)) throw new SupervisorError(`${where}: the node ${name} stands there twice`);
    seen.add(name);
  }
  return nodes;
}

function parseYaml(file: string, text: string): unknown {
  try {
    return parse(text);
  } catch (error) {
    throw new SupervisorError(`${file} is not valid YAML: ${(error as Error).message.split('\n')[0]}`);
  }
}

function mapping(value: unknown, file: string, path: string): Record<string, unknown> {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return { ...value };
  throw wrong(
    file,
    path,
    `must be a mapping, but is ${Array.isArray(value) ? 'a list' : value === null ? 'empty' : `a ${typeof value}`}`,
  );
}

function onlyFields(object: Record<string, unknown>, known: string[], file: string, path: string): void {
  const field = Object.keys(object).find((name) => !known.includes(name));
  if (field === undefined) return;
  throw wrong(
    file,
    path === '' ? field : `${path}.${field}`,
    `is not known here; there is ${known.join(' and ')}`,
  );
}

const wrong = (file: string, path: string, what: string): SupervisorError =>
  new SupervisorError(path === '' ? `${file} ${what}` : `${file}: ${path} ${what}`);
