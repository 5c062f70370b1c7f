import { isJsonMap, type KubeObject, type ObjectMeta } from '@tidegate/kube';
import type { EdgeApplication } from '../../api/index.ts';
import type { RenderError } from './result.ts';
import { kindOf, type ScopeOf } from './scopes.ts';

export interface Manifest {
  readonly ordinal: number;
  readonly object: KubeObject;
}

export interface Decoded {
  readonly manifests: readonly Manifest[];
  readonly errors: readonly RenderError[];
}

export const manifestPath = (ordinal: number): string => `spec.workloadTemplate.manifests[${ordinal}]`;

/** The objects of the template, complete with namespaces. One that is none hurts itself only. */
export function decodeManifests(application: EdgeApplication, scopeOf: ScopeOf): Decoded {
  const written: readonly unknown[] = application.spec?.workloadTemplate?.manifests ?? [];
  const namespace = application.metadata.namespace ?? 'default';
  const manifests: Manifest[] = [];
  const errors: RenderError[] = [];
  written.forEach((manifest, ordinal) => {
    const path = manifestPath(ordinal);
    const decoded = decode(manifest, namespace, scopeOf);
    if ('message' in decoded)
      errors.push({ ordinal, path: `${path}${decoded.field}`, message: decoded.message });
    else manifests.push({ ordinal, object: decoded.object });
  });
  return { manifests, errors };
}

type Problem = { field: string; message: string };

function decode(manifest: unknown, namespace: string, scopeOf: ScopeOf): { object: KubeObject } | Problem {
  const problem = problemOf(manifest);
  if (problem !== undefined) return problem;
  const { status: _, ...object } = manifest as KubeObject;
  const metadata = asWritten(object.metadata as ObjectMeta);
  switch (scopeOf(kindOf(object))) {
    case undefined:
      return {
        field: '.kind',
        message: `the cluster has no kind ${object.kind} in ${object.apiVersion} yet: install what defines it, or correct apiVersion and kind`,
      };
    case 'Namespaced':
      return { object: { ...object, metadata: { ...metadata, namespace: metadata.namespace || namespace } } };
    case 'Cluster':
      if (metadata.namespace === undefined) return { object: { ...object, metadata } };
      return {
        field: '.metadata.namespace',
        message: `objects of kind ${object.kind} are not in a namespace: leave it out`,
      };
  }
}

function problemOf(manifest: unknown): Problem | undefined {
  if (!isJsonMap(manifest))
    return { field: '', message: 'a manifest is an object with apiVersion, kind and metadata' };
  const { apiVersion, kind, metadata } = manifest;
  if (typeof apiVersion !== 'string' || apiVersion === '')
    return {
      field: '.apiVersion',
      message: 'say which version of the API the object is of, such as apps/v1',
    };
  if (typeof kind !== 'string' || kind === '')
    return { field: '.kind', message: 'say which kind of object it is, such as Deployment' };
  if (Array.isArray(manifest.items) && kind.endsWith('List'))
    return { field: '.kind', message: 'a list is no object: write each of its items as a manifest' };
  if (!isJsonMap(metadata) || typeof metadata.name !== 'string' || metadata.name === '')
    return { field: '.metadata.name', message: 'give the object a name: it is found again by that' };
  for (const field of ['labels', 'annotations']) {
    const map = metadata[field] ?? {};
    if (!isJsonMap(map) || Object.values(map).some((value) => typeof value !== 'string'))
      return {
        field: `.metadata.${field}`,
        message: `${field} are text: put numbers and true or false in quotes`,
      };
  }
  return undefined;
}

/** Objects that were copied from a cluster have fields that only the server can write. */
function asWritten(metadata: ObjectMeta): ObjectMeta {
  const {
    creationTimestamp: _,
    deletionTimestamp: _1,
    deletionGracePeriodSeconds: _2,
    generation: _3,
    managedFields: _4,
    resourceVersion: _5,
    uid: _6,
    generateName: _7,
    ...written
  } = metadata;
  return written;
}
