const DOCUMENTS = [
  /^\/version$/,
  /^\/api(\/[^/]+)?$/,
  /^\/apis(\/[^/]+){0,2}$/,
  /^\/openapi\/v2$/,
  /^\/openapi\/v3(\/.+)?$/,
  /^\/\.well-known\/openid-configuration$/,
  /^\/openid\/v1\/jwks$/,
];

/**
 * Whether the path is a discovery document. Health endpoints are not: a stored health status is meaningless.
 */
export const isDocument = (path: string): boolean => DOCUMENTS.some((pattern) => pattern.test(path));

/** Treats `/api/` like `/api`. */
export const documentPath = (pathname: string): string =>
  pathname.endsWith('/') ? pathname.slice(0, -1) : pathname;

/**
 * Whether the query does not change the document: `timeout` limits how long the API server works, and `hash` names a
 * version for caches. A request with anything else is forwarded as it is, and the response is not stored.
 */
export const isPlain = (query: URLSearchParams): boolean =>
  [...query].every(([name, value]) => (name === 'timeout' && /^\d+s$/.test(value)) || name === 'hash');
