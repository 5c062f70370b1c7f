import { ApiError } from '@tidegate/serving';

/** Client libraries wait that long before each of their ten attempts: whoever sits before kubectl shall not wait for minutes. */
const RETRY_AFTER_SECONDS = 1;

/** Not now: the API server is needed for it, and can not be reached. */
export const unavailable = (message: string, cause?: unknown): ApiError =>
  new ApiError(503, 'ServiceUnavailable', message, { retryAfterSeconds: RETRY_AFTER_SECONDS }, cause);
