import { parseFieldSelector, SelectorError } from '@tidegate/kube';

/** The verbs of the API, as RBAC rules name them. */
export type Verb = 'create' | 'delete' | 'deletecollection' | 'get' | 'list' | 'patch' | 'update' | 'watch';

/** What a request is about, derived from its method, path and query. */
export interface ResourceRequest {
  type: 'resource';
  verb: Verb;
  group: string;
  version: string;
  resource: string;
  subresource: string;
  /** The path after the subresource, percent-encoded; only proxies use it. */
  subpath: string;
  namespace: string;
  name: string;
  /**
   * The equality requirements of the field selector, for authorization: a node may list only the pods that are bound
   * to it.
   */
  fields: Record<string, string>;
}

/** A request for a path that is not a resource, for example `/healthz`. */
export interface PathRequest {
  type: 'path';
  verb: string;
  path: string;
}

export type RequestInfo = ResourceRequest | PathRequest;

/** Path segments after the name of a namespace that are subresources of the namespace, not resources inside it. */
const NAMESPACE_SUBRESOURCES = new Set(['status', 'finalize']);

/**
 * `/api/v1/namespaces/a/pods/b/log` and `/apis/apps/v1/deployments` become a ResourceRequest; all other paths,
 * including discovery, become a PathRequest. Path segments are decoded after splitting, so that an encoded slash in a
 * name cannot change the path.
 */
export function requestInfo(method: string, url: Pick<URL, 'pathname' | 'searchParams'>): RequestInfo {
  const segments = url.pathname.split('/').filter((s) => s !== '');
  const rest = resourceSegments(segments);
  if (rest === undefined) return { type: 'path', verb: method.toLowerCase(), path: url.pathname };
  const { group, version } = rest;
  let parts = rest.parts.map(decodeSegment);
  let namespace = '';
  if (parts[0] === 'namespaces' && parts.length > 1) {
    namespace = parts[1] ?? '';
    if (parts.length > 2 && !NAMESPACE_SUBRESOURCES.has(parts[2] ?? '')) parts = parts.slice(2);
  }
  const [resource = '', name = '', subresource = '', ...subpath] = parts;
  // A list that is restricted to one name counts as a request for that name: resourceNames in RBAC apply to it.
  const fields = pinnedFields(url.searchParams.get('fieldSelector'));
  const selectedName = name === '' ? (fields['metadata.name'] ?? '') : name;
  return {
    type: 'resource',
    verb: verbOf(method, name !== '', isWatch(url.searchParams)),
    group,
    version,
    resource,
    subresource,
    subpath: subpath.map(encodeURIComponent).join('/'),
    namespace,
    name: method === 'GET' ? selectedName : name,
    fields,
  };
}

function resourceSegments(
  segments: string[],
): { group: string; version: string; parts: string[] } | undefined {
  const [root, first = '', second = ''] = segments;
  if (root === 'api' && segments.length > 2) return { group: '', version: first, parts: segments.slice(2) };
  if (root === 'apis' && segments.length > 3)
    return { group: first, version: second, parts: segments.slice(3) };
  return undefined;
}

function decodeSegment(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    // An invalid percent encoding is kept as it is; it will not match any name.
    return segment;
  }
}

/** Whether a list request asks for a watch. */
export const isWatch = (query: URLSearchParams): boolean => {
  const watch = query.get('watch')?.toLowerCase();
  return watch !== undefined && watch !== '0' && watch !== 'false';
};

function verbOf(method: string, named: boolean, watch: boolean): Verb {
  switch (method) {
    case 'POST':
      return 'create';
    case 'PUT':
      return 'update';
    case 'PATCH':
      return 'patch';
    case 'DELETE':
      return named ? 'delete' : 'deletecollection';
    default:
      if (watch && !named) return 'watch';
      return named ? 'get' : 'list';
  }
}

/** The equality requirements of a field selector. An invalid selector has none; it is rejected later. */
function pinnedFields(selector: string | null): Record<string, string> {
  if (selector === null || selector === '') return {};
  try {
    const { requirements } = parseFieldSelector(selector);
    const pinned = requirements.filter((r) => r.operator === '=').map((r) => [r.field, r.value]);
    return Object.fromEntries(pinned) as Record<string, string>;
  } catch (error) {
    if (error instanceof SelectorError) return {};
    throw error;
  }
}
