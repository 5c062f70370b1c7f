/** Parses a request body, JSON or YAML, into an object. Errors have the words of kube-apiserver. */

import { tooDeepAt } from '@tidegate/kube';
import { ApiError, badRequest } from '@tidegate/serving';
import { isScalar, type LineCounter, visit, type YAMLMap } from 'yaml';
import { duplicateKeys, JsonSyntaxError, parseJson } from './json.ts';
import { parseYaml, YamlError, YamlTooLongError } from './yaml.ts';

export interface ParseOptions {
  yaml: boolean;
  /** The kind of the resource, for error messages. */
  kind: string;
  /** The body of a server-side apply, whose errors have other words. */
  applied?: boolean;
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
export function parseBody(text: string, options: ParseOptions): Body {
  const { kind, findDuplicates } = options;
  if (options.yaml) return parseYamlBody(text, options);
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

function parseYamlBody(text: string, { kind, findDuplicates, applied }: ParseOptions): Body {
  try {
    // kubectl sends JSON under the media type of YAML for an apply. JSON is YAML, and its parser is much faster.
    const json = parsedAsJson(text);
    if (json !== undefined) return { value: checkTypeMeta(json), duplicates: new Set(), yamlProblems: [] };
    const { document, lineCounter } = parseYaml(text);
    const yamlProblems: string[] = [];
    if (findDuplicates) {
      visit(document, {
        Map: (_, map) => {
          yamlProblems.push(...duplicateYamlKeys(map, lineCounter));
        },
      });
    }
    const value: unknown = document.toJS({ maxAliasCount: -1 });
    return { value: checkTypeMeta(value), duplicates: new Set(), yamlProblems };
  } catch (problem) {
    if (problem instanceof YamlError) {
      throw applied
        ? badRequest(`error decoding YAML: error converting YAML to JSON: ${problem.message}`)
        : unrecognized(kind, problem.message, text);
    }
    if (problem instanceof YamlTooLongError)
      throw new ApiError(
        413,
        'RequestEntityTooLarge',
        `Request entity too large: ${problem.message}; send it as JSON`,
      );
    if (!(problem instanceof JsonSyntaxError)) throw problem;
    throw unrecognized(kind, `couldn't get version/kind; json parse error: ${problem.message}`, text);
  }
}

/** Undefined if the text is not JSON, or if it has duplicate keys, which the parser for YAML reports with their lines. */
function parsedAsJson(text: string): unknown {
  if (!/^\s*\{/.test(text) || tooDeepAt(text) >= 0) return undefined;
  try {
    const value: unknown = JSON.parse(text);
    return duplicateKeys(text).length === 0 ? value : undefined;
  } catch {
    return undefined;
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
