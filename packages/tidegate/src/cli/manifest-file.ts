import { readFile } from 'node:fs/promises';
import { text as readAll } from 'node:stream/consumers';
import { quotePath } from '@tidegate/disk';
import type { KubeObject } from '@tidegate/kube';
import { type Document, LineCounter, parseAllDocuments, type Tags } from 'yaml';
import { CommandError } from './process.ts';

/** One object of a file, with the YAML document it came from. */
export interface Manifest {
  readonly object: KubeObject;
  readonly document: Document;
}

/** Reads all objects from a file, or from standard input for `-`. */
export async function readManifests(path: string): Promise<Manifest[]> {
  try {
    return parseManifests(path === '-' ? await readAll(process.stdin) : await readFile(path, 'utf8'), path);
  } catch (error) {
    if (!(error instanceof Error && 'syscall' in error)) throw error;
    throw new CommandError(`cannot read ${quotePath(path)}: ${error.message}`, { cause: error });
  }
}

export function parseManifests(text: string, path: string): Manifest[] {
  const lineCounter = new LineCounter();
  const options = { version: '1.1', customTags: asKubectl, prettyErrors: false, lineCounter } as const;
  return [...parseAllDocuments(text, options)].flatMap((document) => {
    const [error] = document.errors;
    if (error !== undefined)
      throw new CommandError(
        `${quotePath(path)}, line ${lineCounter.linePos(error.pos[0]).line}: ${error.message}`,
      );
    const object: unknown = document.toJS();
    if (object === null) return [];
    if (!isObject(object)) {
      const { line } = lineCounter.linePos(document.range?.[0] ?? 0);
      throw new CommandError(
        `${quotePath(path)}, line ${line}: not a Kubernetes object: set apiVersion and kind`,
      );
    }
    return [{ object, document }];
  });
}

const isObject = (value: unknown): value is KubeObject =>
  typeof value === 'object' &&
  value !== null &&
  typeof (value as Partial<KubeObject>).apiVersion === 'string' &&
  typeof (value as Partial<KubeObject>).kind === 'string';

/** kubectl parses YAML 1.1, but without timestamps, base-60 numbers, and numbers without a digit, for example `e1`. */
const asKubectl = (tags: Tags): Tags =>
  tags
    .filter((tag) => typeof tag === 'string' || (tag.format !== 'TIME' && !tag.tag.endsWith(':timestamp')))
    .map((tag) => (isNumber(tag) ? { ...tag, test: withDigit(tag.test) } : tag));

type NumberTag = Exclude<Tags[number], string> & { test: RegExp };

/** Not infinity and NaN, which the parser has as a type of its own. */
const isNumber = (tag: Tags[number]): tag is NumberTag =>
  typeof tag === 'object' &&
  tag.tag.endsWith(':float') &&
  'test' in tag &&
  tag.test instanceof RegExp &&
  !tag.test.test('.inf');

/** The mantissa of a number has at least one digit, before or after the point. */
const withDigit = ({ source }: RegExp): RegExp => new RegExp(`^(?=[-+]?\\.?[0-9])(?:${source})`);
