import { isMap, isSeq, LineCounter, type Node, parseDocument, type YAMLMap } from 'yaml';
import type { ImageRule } from '../contracts.ts';
import { imagePattern } from './pattern.ts';

/** One entry of the table: a pattern and its rule. */
export interface ImageEntry {
  matches(image: string): boolean;
  rule: ImageRule;
}

/** A mistake in the user's table. The message names the file, the line, the field, and what to write. */
export class ImageTableError extends Error {
  override readonly name = 'ImageTableError';
}

const EXAMPLE = "{ image: 'nginx*', command: [nginx, -g, daemon off;] }";
const FIELDS = ['image', 'command', 'env', 'absent', 'message', 'standIn'];

/** Parses `images: [...]`. Each entry has an image pattern and one of `command`, `absent: true`, `standIn: true`. */
export function parseImages(text: string, file: string): ImageEntry[] {
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines });
  const errorAtNode = (node: unknown, message: string): ImageTableError => {
    const start = (node as Node | null)?.range?.[0];
    const line = start === undefined ? '' : `:${lines.linePos(start).line}`;
    return new ImageTableError(`${file}${line}: ${message}`);
  };
  const [syntax] = document.errors;
  if (syntax !== undefined) throw new ImageTableError(`${file}: ${syntax.message.split('\n')[0]}`);
  if (document.contents === null) return [];
  const list = isMap(document.contents) ? document.contents.get('images', true) : undefined;
  if (!isSeq(list))
    throw errorAtNode(document.contents, `expected a list "images:" with entries such as ${EXAMPLE}`);
  return list.items.map((item, index) => {
    if (!isMap(item)) throw errorAtNode(item, `images[${index}]: expected an entry such as ${EXAMPLE}`);
    return entryOf(item, (field, message) => {
      const node = field === '' ? item : (item.get(field, true) ?? item);
      return errorAtNode(node, `images[${index}]${field === '' ? '' : `.${field}`}: ${message}`);
    });
  });
}

/** Creates the error for a field of one entry; an empty field name means the entry itself. */
type ErrorAt = (field: string, message: string) => ImageTableError;

function entryOf(item: YAMLMap, errorAt: ErrorAt): ImageEntry {
  const fields = item.toJSON() as Record<string, unknown>;
  for (const name of Object.keys(fields)) {
    if (!FIELDS.includes(name)) throw errorAt(name, `unknown field; known fields: ${FIELDS.join(', ')}`);
  }
  const { image } = fields;
  if (typeof image !== 'string' || image === '') {
    throw errorAt('image', "required: the name of an image, or a pattern such as '*/nginx:1.*'");
  }
  const kinds = ['command', 'absent', 'standIn'].filter((name) => name in fields);
  if (kinds.length !== 1) {
    throw errorAt('', 'exactly one of these fields is required: command: [...], absent: true, standIn: true');
  }
  return { matches: imagePattern(image), rule: ruleOf(fields, errorAt) };
}

function ruleOf(fields: Record<string, unknown>, errorAt: ErrorAt): ImageRule {
  const { image, command, env = {}, absent, standIn, message } = fields;
  for (const [name, value] of Object.entries({ absent, standIn })) {
    if (value !== undefined && value !== true)
      throw errorAt(name, 'must be true; remove the field otherwise');
  }
  if (message !== undefined && absent === undefined)
    throw errorAt('message', 'is allowed only with absent: true');
  if ('env' in fields && command === undefined) throw errorAt('env', 'is allowed only with command');
  if (standIn === true) return { kind: 'stand-in' };
  if (absent === true) {
    if (message !== undefined && typeof message !== 'string') throw errorAt('message', 'must be a string');
    return { kind: 'absent', message: message ?? `images.yaml marks ${image} as absent` };
  }
  if (!isStrings(command) || command.length === 0) {
    throw errorAt(
      'command',
      'must be a list of strings, the program and its arguments: [nginx, -g, daemon off;]',
    );
  }
  return { kind: 'command', command, env: envOf(env, errorAt) };
}

function envOf(env: unknown, errorAt: ErrorAt): Record<string, string> {
  if (typeof env !== 'object' || env === null || Array.isArray(env)) {
    throw errorAt('env', 'must be a map of names and values: { LOG_LEVEL: debug }');
  }
  const entries = Object.entries(env).map(([name, value]) => {
    if (typeof value === 'object') throw errorAt('env', `the value of ${name} must be a string`);
    return [name, String(value)];
  });
  return Object.fromEntries(entries);
}

const isStrings = (value: unknown): value is string[] =>
  Array.isArray(value) && value.every((item) => typeof item === 'string');
