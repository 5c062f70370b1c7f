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
