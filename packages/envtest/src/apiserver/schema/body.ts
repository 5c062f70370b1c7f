/** Parses a request body, JSON or YAML, into an object. Errors have the words of kube-apiserver. */

import { type ApiError, badRequest } from '@tidegate/serving';
import { isScalar, LineCounter, parseDocument, type Tags, visit, type YAMLMap } from 'yaml';
import { duplicateKeys, JsonSyntaxError, parseJson } from './json.ts';

export interface ParseOptions {
  yaml: boolean;
  /** The kind of the resource, for error messages. */
  kind: string;
  /** Search for duplicate keys, for fieldValidation Warn and Strict. */
  findDuplicates: boolean;
}

export interface Body {
  value: Record<string, unknown>;
  /** Paths of duplicate keys in a JSON body. */
  duplicates: ReadonlySet<string>;
  /** The same for YAML, with line numbers: `line 8: key "bar" already set in map`. */
  yamlProblems: string[];
}

/** Throws a 400 error if the body is not a valid document. */
export function parseBody(text: string, { yaml, kind, findDuplicates }: ParseOptions): Body {
  if (yaml) return parseYamlBody(text, kind, findDuplicates);
  try {
    const value = parseJson(text);
    return {
      value: checkTypeMeta(value),
      duplicates: new Set(findDuplicates ? duplicateKeys(text) : []),
      yamlProblems: [],
    };
  } catch (error) {
    if (!(error instanceof JsonSyntaxError)) throw error;
    throw unrecognized(kind, `couldn't get version/kind; json parse error: ${error.message}`, text);
  }
}

const unrecognized = (kind: string, why: string, text: string): ApiError =>
  badRequest(`the object provided is unrecognized (must be of type ${kind}): ${why} (${summary(text)})`);

const SUMMARY_LENGTH = 30;

/** The beginning of an invalid body: as text if it looks like JSON, otherwise in hexadecimal. */
function summary(text: string): string {
  if (text === '') return '<empty>';
  const start = text.slice(0, SUMMARY_LENGTH);
  const shown = text.startsWith('{') ? start : Buffer.from(start).toString('hex');
  return text.length > SUMMARY_LENGTH ? `${shown} ...` : shown;
}

const TYPE_META =
  'struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }';

function checkTypeMeta(value: unknown): Record<string, unknown> {
  if (value === null) return {};
  if (typeof value !== 'object' || Array.isArray(value)) {
    throw new JsonSyntaxError(`json: cannot unmarshal ${jsonType(value)} into Go value of type ${TYPE_META}`);
  }
  const object = value as Record<string, unknown>;
  for (const field of ['apiVersion', 'kind']) {
    const given = object[field];
    if (given !== undefined && given !== null && typeof given !== 'string') {
      throw new JsonSyntaxError(
        `json: cannot unmarshal ${jsonType(given)} into Go struct field .${field} of type string`,
      );
    }
  }
  return object;
}

/** The type of a value in the words of Go's JSON decoder. */
export function jsonType(value: unknown): string {
  if (Array.isArray(value)) return 'array';
  if (typeof value === 'boolean') return 'bool';
  return typeof value;
}

/** YAML 1.1 as in kube-apiserver: `yes` is true and `010` is 8, but dates and times stay strings. */
const tags = (all: Tags): Tags =>
  all.filter((tag) => {
    if (typeof tag === 'string') return true;
    const isTimeOfDay = 'format' in tag && tag.format === 'TIME';
    return (
      !isTimeOfDay && !['timestamp', 'binary', 'omap', 'pairs', 'set'].some((t) => tag.tag.endsWith(`:${t}`))
    );
  });

function parseYamlBody(text: string, kind: string, findDuplicates: boolean): Body {
  const lineCounter = new LineCounter();
  const document = parseDocument(text, {
    version: '1.1',
    customTags: tags,
    uniqueKeys: false,
    prettyErrors: false,
    lineCounter,
  });
  const [error] = document.errors;
  if (error !== undefined) {
    const { line } = lineCounter.linePos(error.pos[0]);
    throw unrecognized(kind, `yaml: line ${line}: ${error.message}`, text);
  }
  const yamlProblems: string[] = [];
  if (findDuplicates) {
    visit(document, {
      Map: (_, map) => {
        yamlProblems.push(...duplicateYamlKeys(map, lineCounter));
      },
    });
  }
  try {
    return { value: checkTypeMeta(document.toJS()), duplicates: new Set(), yamlProblems };
  } catch (problem) {
    if (!(problem instanceof JsonSyntaxError)) throw problem;
    throw unrecognized(kind, `couldn't get version/kind; json parse error: ${problem.message}`, text);
  }
}

function duplicateYamlKeys(map: YAMLMap, lineCounter: LineCounter): string[] {
  const seen = new Set<unknown>();
  const problems: string[] = [];
  for (const { key } of map.items) {
    if (!isScalar(key)) continue;
    if (seen.has(key.value)) {
      const { line } = lineCounter.linePos(key.range?.[0] ?? 0);
      problems.push(`line ${line}: key ${JSON.stringify(String(key.value))} already set in map`);
    }
    seen.add(key.value);
  }
  return problems;
}
