import { readFile } from 'node:fs/promises';
import { text as readAll } from 'node:stream/consumers';
import { LineCounter, parseAllDocuments, type Tags } from 'yaml';
import { type EdgeApplication, edgeApplicationSchema } from '../api/index.ts';
import { everyPoolIsNodeGroup, type KindOfPool } from '../apps/index.ts';
import type { KubeObject } from '../kube/index.ts';
import { CommandError } from './process.ts';
import { misfits } from './shape.ts';

export interface ApplicationFile {
  readonly applications: readonly EdgeApplication[];
  /** From the pools that are in the same file. */
  readonly kindOfPool: KindOfPool;
}

/** `-` is what comes in on standard input. */
export async function readApplicationFile(path: string): Promise<ApplicationFile> {
  try {
    return parseApplicationFile(
      path === '-' ? await readAll(process.stdin) : await readFile(path, 'utf8'),
      path,
    );
  } catch (error) {
    if (!(error instanceof Error && 'syscall' in error)) throw error;
    throw new CommandError(`can not read ${path}: ${error.message}`);
  }
}

export function parseApplicationFile(text: string, path: string): ApplicationFile {
  const objects = parseObjects(text, path);
  const applications = objects.filter(({ kind }) => kind === 'EdgeApplication');
  if (applications.length === 0) throw new CommandError(`there is no EdgeApplication in ${path}.`);
  const nodePools = new Set(
    objects.filter(({ kind }) => kind === 'NodePool').map(({ metadata }) => metadata?.name),
  );
  return {
    applications: applications.map((object) => asApplication(object, path)),
    kindOfPool: (name) => (nodePools.has(name) ? 'NodePool' : everyPoolIsNodeGroup(name)),
  };
}

function parseObjects(text: string, path: string): KubeObject[] {
  const lineCounter = new LineCounter();
  const options = { version: '1.1', customTags: asKubectl, prettyErrors: false, lineCounter } as const;
  return [...parseAllDocuments(text, options)].flatMap((document) => {
    const [error] = document.errors;
    if (error !== undefined)
      throw new CommandError(`${path}, line ${lineCounter.linePos(error.pos[0]).line}: ${error.message}`);
    const value: unknown = document.toJS();
    if (value === null) return [];
    if (typeof value !== 'object' || !('kind' in value))
      throw new CommandError(`${path}: a document without kind is no Kubernetes object.`);
    return [value as KubeObject];
  });
}

/** kubectl reads YAML 1.1, but neither dates nor numbers to the base of 60. */
const asKubectl = (tags: Tags): Tags =>
  tags.filter((tag) => typeof tag === 'string' || (tag.format !== 'TIME' && !tag.tag.endsWith(':timestamp')));

function asApplication(object: KubeObject, path: string): EdgeApplication {
  const application = { ...object, metadata: object.metadata ?? {} };
  const wrong = misfits(edgeApplicationSchema, application);
  if (wrong.length > 0)
    throw new CommandError(
      wrong.map(({ path: field, message }) => `${path}: ${field}: ${message}`).join('\n'),
    );
  return application as unknown as EdgeApplication;
}
