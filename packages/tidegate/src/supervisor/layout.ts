/** The nodes of a cluster and their labels: the example, a list of names, or a file. */

import { isJsonMap, labelKeyProblems, labelValueProblems } from '@tidegate/kube';
import { parse } from 'yaml';
import { SupervisorError } from './error.ts';

/** One node of the local cluster. */
export interface NodeLayout {
  name: string;
  labels: Record<string, string>;
}

/** Node addresses are 127.X.0.1 to 127.X.0.250, and every node has its own block of pod addresses. */
const MAX_NODES = 250;
/** Names that other processes of the cluster use; log files are named after processes. */
const RESERVED = ['apiserver', 'controllers', 'manager', 'supervisor'];
/** The process name of a node's hub. */
export const hubOf = (node: string): string => `hub-${node}`;
const NODE_NAME = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/;

/** Two sites with five nodes: the layout of a new cluster unless the user chooses another. */
export const exampleLayout = (): NodeLayout[] => [
  { name: 'node-a', labels: { location: 'hangzhou' } },
  { name: 'node-b', labels: { location: 'hangzhou' } },
  { name: 'node-c', labels: { location: 'beijing' } },
  { name: 'node-d', labels: { location: 'beijing' } },
  { name: 'node-e', labels: { location: 'beijing' } },
];

/**
 * Parses `a,b,c` or a count: `5` means node-1 to node-5. Existing nodes keep their labels, because a list of names
 * cannot express them.
 */
export function layoutFromNames(text: string, existing: readonly NodeLayout[]): NodeLayout[] {
  const where = '--nodes';
  const names = /^\d+$/.test(text)
    ? Array.from({ length: Math.min(Number(text), MAX_NODES + 1) }, (_, i) => `node-${i + 1}`)
    : text.split(',').map((name) => name.trim());
  const labels = new Map(existing.map((node) => [node.name, node.labels]));
  return checkNodes(
    names.map((name) => ({ name, labels: labels.get(name) ?? {} })),
    where,
  );
}

/** Parses a layout file: `nodes: [{ name: node-a, labels: { location: hangzhou } }]`. */
export function layoutFromFile(file: string, text: string): NodeLayout[] {
  const root = mapping(parseYaml(file, text), file, '');
  onlyFields(root, ['nodes'], file, '');
  if (!Array.isArray(root.nodes)) {
    throw layoutError(
      file,
      'nodes',
      'must be a list, for example [{ name: node-a, labels: { location: hangzhou } }]',
    );
  }
  const nodes = root.nodes.map((item: unknown, i): NodeLayout => {
    const path = `nodes[${i}]`;
    const node = mapping(item, file, path);
    onlyFields(node, ['name', 'labels'], file, path);
    if (typeof node.name !== 'string')
      throw layoutError(file, `${path}.name`, 'is required and must be a string');
    return { name: node.name, labels: labelsOf(node.labels, file, `${path}.labels`) };
  });
  return checkNodes(nodes, file);
}

function labelsOf(value: unknown, file: string, path: string): Record<string, string> {
  if (value === undefined || value === null) return {};
  const labels: Record<string, string> = {};
  for (const [key, text] of Object.entries(mapping(value, file, path))) {
    if (typeof text !== 'string')
      throw layoutError(file, `${path}.${key}`, 'must be a string; put the value in quotes');
    const problem = [...labelKeyProblems(key), ...labelValueProblems(text)][0];
    if (problem !== undefined) throw layoutError(file, `${path}.${key}`, problem);
    labels[key] = text;
  }
  return labels;
}

/** Rejects invalid, reserved and duplicate names, and too many nodes. */
function checkNodes(nodes: NodeLayout[], where: string): NodeLayout[] {
  if (nodes.length > MAX_NODES) {
    throw new SupervisorError(`${where}: a cluster has at most ${MAX_NODES} nodes`);
  }
  const seen = new Set<string>();
  const processes = new Set([...RESERVED, ...nodes.map(({ name }) => hubOf(name))]);
  for (const { name } of nodes) {
    if (!NODE_NAME.test(name)) {
      throw new SupervisorError(
        `${where}: ${JSON.stringify(name)} is not a valid node name: use lower case letters, digits and '-', at most 63 characters`,
      );
    }
    if (processes.has(name)) {
      throw new SupervisorError(
        `${where}: the node name ${name} is reserved for another process of the cluster; choose another name`,
      );
    }
    if (seen.has(name)) throw new SupervisorError(`${where}: the node ${name} is listed more than once`);
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
  if (isJsonMap(value)) return { ...value };
  throw layoutError(
    file,
    path,
    `must be a mapping, but is ${Array.isArray(value) ? 'a list' : value === null ? 'empty' : `a ${typeof value}`}`,
  );
}

function onlyFields(object: Record<string, unknown>, known: string[], file: string, path: string): void {
  const field = Object.keys(object).find((name) => !known.includes(name));
  if (field === undefined) return;
  throw layoutError(
    file,
    path === '' ? field : `${path}.${field}`,
    `is not a known field; known fields: ${known.join(', ')}`,
  );
}

const layoutError = (file: string, path: string, what: string): SupervisorError =>
  new SupervisorError(path === '' ? `${file} ${what}` : `${file}: ${path} ${what}`);
