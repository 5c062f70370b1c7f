/**
 * `kubectl apply` stores the applied configuration in an annotation; `kubectl apply --server-side` (manager `kubectl`)
 * does not need it. Objects can move between the two without conflicts, because the server keeps the annotation and the
 * managed fields consistent.
 */

import { isJsonMap, type KubeObject } from '@tidegate/kube';
import { parseJson } from '../schema/json.ts';
import { compare } from './compare.ts';
import { claimedPaths } from './field-paths.ts';
import type { FieldType } from './field-type.ts';
import { difference, EMPTY, type FieldSet } from './fieldset.ts';
import { problemsOf } from './validate.ts';

/** The field manager of `kubectl apply --server-side`. */
export const KUBECTL = 'kubectl';

const ANNOTATION = 'kubectl.kubernetes.io/last-applied-configuration';
const MAX_ANNOTATIONS_BYTES = 256 * 1024;

/** The fields that client-side apply set and that still have the applied value. kubectl may take them over. */
export function fieldsOfClientSideApply(live: KubeObject, apiVersion: string, type: FieldType): FieldSet {
  const text = live.metadata.annotations?.[ANNOTATION] ?? '';
  const lastApplied = text === '' ? undefined : parseObject(text);
  if (lastApplied === undefined || lastApplied.apiVersion !== apiVersion) return EMPTY;
  if (problemsOf(lastApplied, type) !== undefined || problemsOf(live, type) !== undefined) return EMPTY;
  const { changed, removed } = compare(lastApplied, live, type);
  return difference(difference(claimedPaths(lastApplied, type), changed), removed);
}

function parseObject(text: string): Record<string, unknown> | undefined {
  try {
    const value = parseJson(text);
    return isJsonMap(value) ? value : undefined;
  } catch {
    // Any client can write the annotation. If it cannot be parsed, it allows nothing.
    return undefined;
  }
}

/** Updates the annotation if the object has one. */
export function updateLastApplied(object: KubeObject, applied: KubeObject): KubeObject {
  const annotations = object.metadata.annotations;
  if ((annotations?.[ANNOTATION] ?? '') === '') return object;
  const { [ANNOTATION]: _old, ...others } = annotations ?? {};
  const value = `${JSON.stringify(sortKeys(withoutAnnotation(applied)))}\n`;
  const size = Object.entries({ ...others, [ANNOTATION]: value })
    .map(([key, text]) => Buffer.byteLength(key) + Buffer.byteLength(text))
    .reduce((sum, bytes) => sum + bytes, 0);
  const updated = size > MAX_ANNOTATIONS_BYTES ? others : { ...annotations, [ANNOTATION]: value };
  return { ...object, metadata: { ...object.metadata, annotations: updated } };
}

function withoutAnnotation(applied: KubeObject): KubeObject {
  if (applied.metadata.annotations?.[ANNOTATION] === undefined) return applied;
  const { [ANNOTATION]: _, ...annotations } = applied.metadata.annotations;
  return { ...applied, metadata: { ...applied.metadata, annotations } };
}

function sortKeys(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sortKeys);
  if (!isJsonMap(value)) return value;
  return Object.fromEntries(
    Object.keys(value)
      .sort()
      .map((key) => [key, sortKeys(value[key])]),
  );
}
