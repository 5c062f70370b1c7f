/**
 * The changes that the kinds of OpenYurt describe, applied to a workload: images, replicas, tolerations, JSON Patches and strategic
 * merge patches. Pure; a change returns a copy.
 */
import { isJsonMap, type JsonMap, type KubeObject } from '@tidegate/kube';
import {
  applyStrategicMergePatch,
  type FieldStrategy,
  StrategicMergeError,
  type StrategyOf,
} from '@tidegate/kube/patch';
import type { YurtPatch } from '../api/index.ts';
import { applyJsonPatch, listAt, PatchError, type Path, write } from '../apps/index.ts';
import type { FieldError } from './template.ts';

/** One change, and the field that describes it. Throws ChangeError. */
export interface Change {
  readonly path: string;
  apply(workload: KubeObject): KubeObject;
}

/** A change that cannot be applied. */
export class ChangeError extends Error {
  override readonly name = 'ChangeError';
  /** Below the path of the change, with a leading dot; or empty. */
  readonly field: string;

  constructor(field: string, message: string) {
    super(message);
    this.field = field;
  }
}

const POD_SPEC: Path = ['spec', 'template', 'spec'];
const CONTAINER_LISTS = ['containers', 'initContainers'];

export const replicasChange = (path: string, replicas: number): Change => ({
  path,
  apply: (workload) => write(workload, ['spec', 'replicas'], replicas),
});

/** OpenYurt ignores a name that no container has. That is a mistake, so it is reported. */
export const imageChange = (path: string, name: string, image: string): Change => ({
  path,
  apply(workload) {
    let changed = workload;
    for (const list of CONTAINER_LISTS) {
      for (const [index, container] of listAt(workload, [...POD_SPEC, list]).entries()) {
        if (isJsonMap(container) && container.name === name)
          changed = write(changed, [...POD_SPEC, list, String(index), 'image'], image);
      }
    }
    if (changed === workload)
      throw new ChangeError('', `the template has no container ${JSON.stringify(name)}: correct the name`);
    return changed;
  },
});

export const tolerationsChange = (path: string, tolerations: readonly JsonMap[]): Change => ({
  path,
  apply: (workload) =>
    write(
      workload,
      [...POD_SPEC, 'tolerations'],
      [...listAt(workload, [...POD_SPEC, 'tolerations']), ...tolerations],
    ),
});

/** `placeholder` in the value stands for the name of the pool. */
export const jsonPatchChange = (
  path: string,
  patch: YurtPatch,
  placeholder: string,
  pool: string,
): Change => ({
  path,
  apply(workload) {
    const { operation, path: pointer } = patch;
    const value = patch.value === undefined ? undefined : replaced(patch.value, placeholder, pool);
    const step = { op: operation, path: pointer, ...(value !== undefined && { value }) };
    try {
      // As OpenYurt applies it, with the library that is also in the API server.
      return applyJsonPatch(workload, [step], undefined, 'kubernetes');
    } catch (error) {
      if (!(error instanceof PatchError)) throw error;
      throw new ChangeError('', `${error.path}: ${error.message}`);
    }
  },
});

/** Replaces the placeholder in all texts. It is data: a name of a pool cannot add fields, as it could in the text of the JSON. */
function replaced(value: unknown, placeholder: string, pool: string): unknown {
  if (typeof value === 'string') return value.replaceAll(placeholder, pool);
  if (Array.isArray(value)) return value.map((item) => replaced(item, placeholder, pool));
  if (!isJsonMap(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [
      key.replaceAll(placeholder, pool),
      replaced(item, placeholder, pool),
    ]),
  );
}

export const strategicChange = (path: string, patch: JsonMap): Change => ({
  path,
  apply(workload) {
    try {
      return applyStrategicMergePatch(workload, patch, strategyOf);
    } catch (error) {
      if (!(error instanceof StrategicMergeError)) throw error;
      throw new ChangeError('', error.message);
    }
  },
});

/** The lists of Deployments and StatefulSets that a strategic merge patch merges, with their keys. It replaces all others. */
const MERGE_KEYS: Readonly<Record<string, string>> = {
  containers: 'name',
  initContainers: 'name',
  ephemeralContainers: 'name',
  volumes: 'name',
  env: 'name',
  imagePullSecrets: 'name',
  resourceClaims: 'name',
  schedulingGates: 'name',
  volumeMounts: 'mountPath',
  volumeDevices: 'devicePath',
  ports: 'containerPort',
  hostAliases: 'ip',
  topologySpreadConstraints: 'topologyKey',
};

const strategyOf: StrategyOf<undefined> = (_, field): FieldStrategy<undefined> =>
  Object.hasOwn(MERGE_KEYS, field) ? { action: 'merge', mergeKey: MERGE_KEYS[field]! } : {};

/** Applies all changes in order. Returns the error of the first one that cannot be applied. */
export function withChanges(workload: KubeObject, changes: readonly Change[]): KubeObject | FieldError {
  let changed = workload;
  for (const change of changes) {
    try {
      changed = change.apply(changed);
    } catch (error) {
      if (!(error instanceof ChangeError)) throw error;
      return { path: change.path + error.field, message: error.message };
    }
  }
  const { apiVersion, kind, metadata } = workload;
  const isSame =
    changed.apiVersion === apiVersion &&
    changed.kind === kind &&
    changed.metadata?.name === metadata.name &&
    changed.metadata.namespace === metadata.namespace;
  if (isSame) return changed;
  return {
    path: changes.at(-1)?.path ?? '',
    message: 'a change of apiVersion, kind, name or namespace is not possible: remove it',
  };
}
