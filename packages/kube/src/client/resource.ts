import type { KubeObject } from '../base/object.ts';

/**
 * A resource, as in the paths of the API server. `T` is the type of its objects and has no effect at run time.
 *
 * @example
 * const widgets: Resource<Widget> = { group: 'example.com', version: 'v1', resource: 'widgets', namespaced: true };
 */
export interface Resource<T extends KubeObject = KubeObject> {
  readonly group: string;
  readonly version: string;
  /** Plural and lower case. */
  readonly resource: string;
  readonly namespaced: boolean;
  /** Lists and watches return only the metadata of objects (PartialObjectMetadata), for example for Secrets. */
  readonly metadataOnly?: boolean;
  /** Never set; it only connects `T` to the resource. */
  readonly objectType?: T;
}

/** One object, or a subresource of it. `namespace` is required for namespaced resources. */
export interface Target {
  name: string;
  namespace?: string;
  subresource?: string;
}

/** `/apis/apps/v1/namespaces/x/deployments/y/scale`, and all shorter forms of it. */
export function pathOf(resource: Resource, target: Partial<Target> = {}): string {
  const { group, version, resource: plural, namespaced } = resource;
  const segments = group === '' ? ['api', version] : ['apis', group, version];
  if (namespaced && target.namespace !== undefined && target.namespace !== '') {
    segments.push('namespaces', target.namespace);
  } else if (namespaced && target.name !== undefined) {
    throw new TypeError(`${qualifiedName(resource)} ${JSON.stringify(target.name)}: a namespace is required`);
  }
  segments.push(plural);
  if (target.name !== undefined) segments.push(checkedName(resource, target.name));
  const path = `/${segments.map((segment) => encodeSegment(resource, segment)).join('/')}`;
  return target.subresource === undefined ? path : `${path}/${target.subresource}`;
}

/** A dot segment has no encoding that clients and servers do not resolve. */
function encodeSegment(resource: Resource, segment: string): string {
  if (segment === '.' || segment === '..')
    throw new TypeError(`${qualifiedName(resource)}: ${JSON.stringify(segment)} cannot be a part of a path`);
  return encodeURIComponent(segment);
}

/** An empty name would silently turn "delete one" into "delete all". */
function checkedName(resource: Resource, name: string): string {
  if (name === '' || name === '.' || name === '..' || name.includes('/')) {
    throw new TypeError(
      `${qualifiedName(resource)}: ${JSON.stringify(name)} cannot be the name of an object`,
    );
  }
  return name;
}

/** `deployments.apps`, `pods`: the form that kubectl and error messages use. */
export const qualifiedName = ({ group, resource }: { group: string; resource: string }): string =>
  group === '' ? resource : `${resource}.${group}`;

/** `namespace/name`, or `name` for a cluster-scoped object: the key of caches and work queues. */
export function keyOf(object: KubeObject): string {
  const { namespace, name } = object.metadata;
  return namespace === undefined || namespace === '' ? `${name}` : `${namespace}/${name}`;
}

/** The inverse of `keyOf`. */
export function splitKey(key: string): { namespace: string | undefined; name: string } {
  const slash = key.indexOf('/');
  if (slash < 0) return { namespace: undefined, name: key };
  return { namespace: key.slice(0, slash), name: key.slice(slash + 1) };
}
