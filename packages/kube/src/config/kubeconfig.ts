import { readFile } from 'node:fs/promises';
import { delimiter, dirname, join, resolve } from 'node:path';
import { parse } from 'yaml';
import { ConfigError } from './cluster.ts';
import { Fields } from './fields.ts';

/** One entry of a kubeconfig, and the file it comes from: relative paths are relative to that file. */
export interface Entry {
  fields: Fields;
  file: string;
  where: string;
}

/**
 * One or more kubeconfig files, merged like kubectl does: for each entry, and for current-context, the first file
 * wins.
 */
export interface Kubeconfig {
  files: string[];
  currentContext: string | undefined;
  clusters: ReadonlyMap<string, Entry>;
  users: ReadonlyMap<string, Entry>;
  contexts: ReadonlyMap<string, Entry>;
}

/** Where to look for kubeconfig files. */
export interface KubeconfigSource {
  /** A file that must exist, like `--kubeconfig`. Default: the files in KUBECONFIG, or `~/.kube/config`. */
  path?: string;
  env: NodeJS.ProcessEnv;
}

/** Reads and merges the kubeconfig files. Returns undefined when there is none. Throws a ConfigError. */
export async function readKubeconfig({ path, env }: KubeconfigSource): Promise<Kubeconfig | undefined> {
  const files: { file: string; text: string }[] = [];
  for (const file of kubeconfigFiles(path, env)) {
    const text = await readOptional(file);
    if (text !== undefined) files.push({ file, text });
    else if (path !== undefined) throw new ConfigError(`${path}: no such file`);
  }
  if (files.length === 0) return undefined;
  return mergeKubeconfigs(files);
}

/** The files to read, in order of precedence. */
export function kubeconfigFiles(path: string | undefined, env: NodeJS.ProcessEnv): string[] {
  if (path !== undefined) return [resolve(path)];
  const listed = (env.KUBECONFIG ?? '').split(delimiter).filter((file) => file !== '');
  if (listed.length > 0) return [...new Set(listed.map((file) => resolve(file)))];
  return env.HOME === undefined || env.HOME === '' ? [] : [join(env.HOME, '.kube', 'config')];
}

export function mergeKubeconfigs(files: { file: string; text: string }[]): Kubeconfig {
  const clusters = new Map<string, Entry>();
  const users = new Map<string, Entry>();
  const contexts = new Map<string, Entry>();
  let currentContext: string | undefined;
  for (const { file, text } of files) {
    const root = new Fields(parseYaml(file, text), file);
    currentContext ??= root.string('current-context');
    addEntries(clusters, root, file, 'clusters', 'cluster');
    addEntries(users, root, file, 'users', 'user');
    addEntries(contexts, root, file, 'contexts', 'context');
  }
  return { files: files.map((f) => f.file), currentContext, clusters, users, contexts };
}

/** If several files have an entry of the same name, the first one wins. Within one file, a name must be unique. */
function addEntries(into: Map<string, Entry>, root: Fields, file: string, list: string, kind: string): void {
  const seen = new Set<string>();
  for (const item of root.list(list)) {
    const name = item.requiredString('name', `every ${kind} needs a name`);
    const where = `${file}: ${kind} ${JSON.stringify(name)}`;
    if (seen.has(name)) throw new ConfigError(`${where}: the name appears twice in ${list}; remove one`);
    seen.add(name);
    const entry = { fields: new Fields(itemBody(item, kind, where), where), file, where };
    if (!into.has(name)) into.set(name, entry);
  }
}

function itemBody(item: Fields, kind: string, where: string): unknown {
  if (!item.has(kind)) throw new ConfigError(`${where}: the field "${kind}" is missing`);
  return item.value(kind);
}

function parseYaml(file: string, text: string): unknown {
  try {
    return parse(text);
  } catch (error) {
    throw new ConfigError(`${file}: not valid YAML: ${(error as Error).message.split('\n')[0]}`);
  }
}

async function readOptional(file: string): Promise<string | undefined> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw new ConfigError(`${file}: ${(error as Error).message}`, { cause: error });
  }
}

/** Resolves a path relative to the kubeconfig that contains it. */
export const pathFrom = (entry: Entry, path: string): string => resolve(dirname(entry.file), path);
