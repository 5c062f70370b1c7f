import { ApiError } from '@tidegate/serving';

/** No API server answered this request. */
export class UpstreamUnavailable extends Error {
  readonly code = 'UPSTREAM_UNAVAILABLE';
  /** Whether the request was sent before the connection failed. If so, it may have taken effect. */
  readonly sent: boolean;

  constructor(message: string, options: { sent: boolean; cause?: unknown }) {
    super(message, { cause: options.cause });
    this.name = 'UpstreamUnavailable';
    this.sent = options.sent;
  }
}

/**
 * Client libraries wait this long before each of their ten retries. A user of kubectl should not wait for minutes to see
 * the error.
 */
const RETRY_AFTER_SECONDS = 1;

/** 503: the request needs an API server, and none is reachable. */
export const unavailable = (message: string, cause?: unknown): ApiError =>
  new ApiError(503, 'ServiceUnavailable', message, { retryAfterSeconds: RETRY_AFTER_SECONDS }, cause);

/** The message of an error, or the messages of all errors in an AggregateError. */
export function describeError(error: unknown): string {
  if (error instanceof AggregateError) return error.errors.map(describeError).join('; ');
  return error instanceof Error ? error.message : String(error);
}
