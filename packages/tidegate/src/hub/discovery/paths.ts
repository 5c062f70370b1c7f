const DOCUMENTS = [
  /^\/version$/,
  /^\/api(\/[^/]+)?$/,
  /^\/apis(\/[^/]+){0,2}$/,
  /^\/openapi\/v2$/,
  /^\/openapi\/v3(\/.+)?$/,
  /^\/\.well-known\/openid-configuration$/,
  /^\/openid\/v1\/jwks$/,
];

/** The documents by which clients find out what there is. Health is not among them: yesterday's says nothing. */
export const isDocument = (path: string): boolean => DOCUMENTS.some((pattern) => pattern.test(path));

/** `/api/` is `/api`. */
export const documentPath = (pathname: string): string =>
  pathname.endsWith('/') ? pathname.slice(0, -1) : pathname;
