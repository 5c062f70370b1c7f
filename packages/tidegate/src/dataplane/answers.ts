/**
 * The responses that a data plane produces itself, without an endpoint. Both data planes use this table: the embedded one
 * reads it directly, nginx gets it as data in its configuration (see `nginx/lua-settings.ts`). The texts name neither
 * Services nor endpoints, so that a client learns nothing about what is behind the router.
 */
export const ANSWER_TEXTS: Readonly<Record<number, string>> = {
  200: 'tidegate router',
  301: '',
  302: '',
  303: '',
  307: '',
  308: '',
  400: 'bad request',
  401: 'unauthorized',
  403: 'forbidden',
  404: 'not found',
  405: 'method not allowed',
  408: 'request timeout',
  413: 'request body too large',
  414: 'request target too long',
  421: 'misdirected request',
  431: 'request headers too large',
  500: 'internal server error',
  501: 'not implemented',
  502: 'bad gateway',
  503: 'service unavailable',
  504: 'gateway timeout',
  505: 'HTTP version not supported',
  508: 'loop detected',
};

/** The value of the `Server` header, in these responses and in those of endpoints. */
export const SERVER = 'tidegate';

/** Headers of every such response. */
export const ANSWER_HEADERS: Readonly<Record<string, string>> = {
  'Content-Type': 'text/plain; charset=utf-8',
  Server: SERVER,
  'X-Content-Type-Options': 'nosniff',
};

/**
 * A request over HTTP for this host is answered by the router itself with status 200, before any route of a tenant. It
 * shows that the answer comes from the router with this identity, the UID of its L7Router, and not from another program
 * that has taken its port. A client that does not know the UID learns nothing.
 */
export const identityHost = (identity: string): string => `${identity}.router.tidegate.invalid`;

/** The body of the response with this status. */
export const answerBody = (status: number): string => `${ANSWER_TEXTS[status] ?? ''}\n`;

/** Responses with these statuses get the cookies of a server that authenticates clients: those to which nginx adds headers. */
export const COOKIE_STATUSES: ReadonlySet<number> = new Set([
  200, 201, 204, 206, 301, 302, 303, 304, 307, 308,
]);
