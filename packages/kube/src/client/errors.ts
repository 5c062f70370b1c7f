import type { Status, StatusDetails } from '../base/object.ts';

/**
 * The API server answered with an error. Use the functions below, for example `isNotFound`, to find out which one.
 */
export class ApiStatusError extends Error {
  readonly status: Status;
  readonly code: number;
  readonly reason: string;
  readonly details: StatusDetails | undefined;
  /** The request: `GET https://host/api/v1/pods`. Undefined for errors that arrive inside a watch. */
  readonly request: string | undefined;

  constructor(status: Status, request?: string) {
    super(status.message ?? status.reason ?? `the server answered ${status.code}`);
    this.name = 'ApiStatusError';
    this.status = status;
    this.code = status.code;
    this.reason = status.reason ?? '';
    this.details = status.details;
    this.request = request;
  }
}

/**
 * There was no usable answer: the connection was refused, reset or closed, or the answer was not TLS or JSON. `cause`
 * has the details.
 */
export class ConnectionError extends Error {
  readonly code: string;

  constructor(request: string, cause: unknown) {
    super(`${request}: ${describeCause(cause)}`, { cause });
    this.name = 'ConnectionError';
    this.code = codeOf(cause);
  }
}

/** The deadline of the request has passed. A write may have been carried out nevertheless. */
export class DeadlineError extends Error {
  constructor(request: string, ms: number) {
    super(`${request}: no answer within ${ms} ms`);
    this.name = 'DeadlineError';
  }
}

function codeOf(cause: unknown): string {
  return cause instanceof Error && 'code' in cause && typeof cause.code === 'string' ? cause.code : '';
}

/** If connecting to all addresses of a host fails, Node throws an AggregateError with an empty message. */
function describeCause(cause: unknown): string {
  if (cause instanceof AggregateError && cause.message === '') {
    return cause.errors.map(describeCause).join('; ');
  }
  return cause instanceof Error ? cause.message : String(cause);
}

const hasReason = (error: unknown, ...reasons: string[]): boolean =>
  error instanceof ApiStatusError && reasons.includes(error.reason);
const hasCode = (error: unknown, code: number): boolean =>
  error instanceof ApiStatusError && error.code === code;

/** The object, or its resource, does not exist. */
export const isNotFound = (error: unknown): boolean => hasReason(error, 'NotFound') || hasCode(error, 404);
/** A create failed because the name is in use. */
export const isAlreadyExists = (error: unknown): boolean => hasReason(error, 'AlreadyExists');
/** The object has changed since it was read, or an apply conflicts with another manager. Read it again and retry. */
export const isConflict = (error: unknown): boolean => hasReason(error, 'Conflict');
/** The object failed validation. `details.causes` names the fields. */
export const isInvalid = (error: unknown): boolean => hasReason(error, 'Invalid');
/** The request is malformed. Retrying it is pointless. */
export const isBadRequest = (error: unknown): boolean =>
  hasReason(error, 'BadRequest') || hasCode(error, 400);
/** The user is known but does not have the permission, or admission rejected the request. */
export const isForbidden = (error: unknown): boolean => hasReason(error, 'Forbidden') || hasCode(error, 403);
/** The credential was rejected, even after it was refreshed. */
export const isUnauthorized = (error: unknown): boolean => hasCode(error, 401);
/** The server limits the rate, or a disruption budget forbids an eviction. */
export const isTooManyRequests = (error: unknown): boolean => hasCode(error, 429);
/** The requested resource version is too old; list again. */
export const isExpired = (error: unknown): boolean =>
  hasReason(error, 'Expired', 'Gone') || hasCode(error, 410);
/**
 * The requested resource version is in the server's future, for example because its data was restored from a backup.
 */
export const isTooLargeResourceVersion = (error: unknown): boolean =>
  error instanceof ApiStatusError &&
  (error.details?.causes ?? []).some(
    (cause) => cause.reason === 'ResourceVersionTooLarge' || cause.message === 'Too large resource version',
  );
/** A namespace that is being deleted accepts no new objects. */
export const isNamespaceTerminating = (error: unknown): boolean =>
  error instanceof ApiStatusError &&
  (error.details?.causes ?? []).some((cause) => cause.reason === 'NamespaceTerminating');
/** The server is reachable but cannot answer now; the same request may work later. */
export const isServerUnavailable = (error: unknown): boolean =>
  error instanceof ApiStatusError && error.code >= 500;

/** Whether server-side apply was refused because the kind has no such field in this version of the server. */
export const isUnknownField = (error: unknown, field: string): boolean =>
  error instanceof ApiStatusError && error.message.includes(`.${field}: field not declared in schema`);

/** Returns a Status for any body of a failed request. */
export function statusOf(code: number, body: string): Status {
  const parsed = parseStatus(body);
  if (parsed !== undefined) return { ...parsed, code: parsed.code === 0 ? code : parsed.code };
  return {
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Failure',
    code,
    reason: REASONS[code] ?? '',
    message: body.trim() === '' ? `the server answered ${code}` : body.trim().slice(0, 2048),
  };
}

/** For answers of proxies and of handlers that do not use Status. */
const REASONS: Readonly<Record<number, string | undefined>> = {
  400: 'BadRequest',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'NotFound',
  405: 'MethodNotAllowed',
  410: 'Gone',
  429: 'TooManyRequests',
  500: 'InternalError',
  503: 'ServiceUnavailable',
  504: 'Timeout',
};

function parseStatus(body: string): Status | undefined {
  try {
    const value: unknown = JSON.parse(body);
    return isStatus(value) ? { ...value, code: value.code ?? 0 } : undefined;
  } catch {
    return undefined; // Not JSON: the caller wraps the text instead.
  }
}

export function isStatus(value: unknown): value is Status {
  return typeof value === 'object' && value !== null && 'kind' in value && value.kind === 'Status';
}
