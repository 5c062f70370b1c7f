import { isJsonMap, type KubeObject, MAX_JSON_DEPTH, measureJson, type ObjectMeta } from '@tidegate/kube';
import { EDITIONS_ANNOTATION, type EdgeApplication } from '../../api/index.ts';
import { dependsOnAuthor } from './author-kinds.ts';
import type { RenderError } from './result.ts';
import { kindOf, type ScopeOf } from './scopes.ts';

/** A manifest of the template that is a valid object. */
export interface Manifest {
  /** The index in `spec.workloadTemplate.manifests`. */
  readonly ordinal: number;
  readonly object: KubeObject;
  /** The size of the manifest as JSON. */
  readonly bytes: number;
}

export interface Decoded {
  readonly manifests: readonly Manifest[];
  readonly errors: readonly RenderError[];
}

/** The field path of a manifest, for error messages. */
export const manifestPath = (ordinal: number): string => `spec.workloadTemplate.manifests[${ordinal}]`;

/**
 * Checks the manifests of the template and sets missing namespaces to that of the application. A manifest that is not
 * valid is reported in `errors` and does not affect the others.
 */
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
    else manifests.push({ ordinal, ...decoded });
  });
  return { manifests, errors };
}

/** What is wrong with one manifest. `field` is relative to the manifest. */
type ManifestError = { field: string; message: string };

function decode(
  manifest: unknown,
  namespace: string,
  scopeOf: ScopeOf,
): Omit<Manifest, 'ordinal'> | ManifestError {
  const bytes = checked(manifest);
  if (typeof bytes !== 'number') return bytes;
  const { status: _, ...object } = manifest as KubeObject;
  const metadata = asWritten(object.metadata as ObjectMeta);
  switch (scopeOf(kindOf(object))) {
    case undefined:
      return {
        field: '.kind',
        message: `the cluster has no kind ${object.kind} in ${object.apiVersion}: install its CustomResourceDefinition, or correct apiVersion and kind`,
      };
    case 'Namespaced':
      return {
        bytes,
        object: { ...object, metadata: { ...metadata, namespace: metadata.namespace || namespace } },
      };
    case 'Cluster':
      if (metadata.namespace === undefined) return { bytes, object: { ...object, metadata } };
      return {
        field: '.metadata.namespace',
        message: `objects of kind ${object.kind} are cluster-scoped: remove the namespace`,
      };
  }
}

/** Returns the size of a valid manifest. */
function checked(manifest: unknown): number | ManifestError {
  if (!isJsonMap(manifest))
    return { field: '', message: 'a manifest must be an object with apiVersion, kind and metadata' };
  const size = measureJson(manifest);
  if (typeof size === 'string')
    return {
      field: '',
      message: `the manifest is ${size}: at most 3 MiB and ${MAX_JSON_DEPTH} nested lists and maps are allowed`,
    };
  const { apiVersion, kind, metadata } = manifest;
  if (typeof apiVersion !== 'string' || apiVersion === '')
    return { field: '.apiVersion', message: 'apiVersion is required, for example apps/v1' };
  if (typeof kind !== 'string' || kind === '')
    return { field: '.kind', message: 'kind is required, for example Deployment' };
  if (dependsOnAuthor(kindOf({ apiVersion, kind })))
    return {
      field: '.kind',
      message: `kind ${kind} is not allowed in an application, because the manager would create the object with its own permissions, and not with those of the author: create it separately`,
    };
  if (Array.isArray(manifest.items) && kind.endsWith('List'))
    return { field: '.kind', message: 'lists are not supported: add each item as a manifest' };
  if (!isJsonMap(metadata) || typeof metadata.name !== 'string' || metadata.name === '')
    return { field: '.metadata.name', message: 'a name is required; generateName is not supported' };
  for (const field of ['labels', 'annotations']) {
    const map = metadata[field] ?? {};
    if (!isJsonMap(map) || Object.values(map).some((value) => typeof value !== 'string'))
      return {
        field: `.metadata.${field}`,
        message: `${field} must be strings: put numbers and booleans in quotes`,
      };
  }
  const editions = isJsonMap(metadata.annotations) ? metadata.annotations[EDITIONS_ANNOTATION] : undefined;
  if (editions !== undefined && editions !== 'each' && editions !== 'once')
    return {
      field: `.metadata.annotations.${EDITIONS_ANNOTATION}`,
      message: 'unsupported value; supported values: each, once',
    };
  const long = tooLongIn({ apiVersion, kind, name: metadata.name, namespace: metadata.namespace ?? '' });
  return long ?? size;
}

/** Names are parts of messages, and hashed for every edition. The API server rejects such names too. */
const MAX_NAME_LENGTH = 253;

function tooLongIn(names: Record<string, unknown>): ManifestError | undefined {
  for (const [field, text] of Object.entries(names)) {
    const path = field === 'name' || field === 'namespace' ? `.metadata.${field}` : `.${field}`;
    if (typeof text !== 'string') return { field: path, message: `the ${field} must be a string` };
    if (text.length > MAX_NAME_LENGTH)
      return {
        field: path,
        message: `the ${field} has ${text.length} characters, the limit is ${MAX_NAME_LENGTH}`,
      };
  }
  return undefined;
}

/** Removes fields that only the server sets. Manifests that were copied from a cluster contain them. */
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
