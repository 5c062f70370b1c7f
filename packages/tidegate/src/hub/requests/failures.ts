import { ApiStatusError } from '@tidegate/kube';
import { ApiError } from '@tidegate/serving';
import { UpstreamUnavailable, unavailable } from '../upstream/index.ts';
import {
  IdentityDroppedError,
  NothingStoredError,
  TooManyWatchesError,
  ViewTooLargeError,
} from '../views/index.ts';

/** When a client that has too many watches may try again: watches time out after some minutes. */
const RETRY_AFTER_SECONDS = 30;
/** When a client that has not read its responses may try again. */
const UNREAD_RETRY_SECONDS = 5;

/** 502: the hub cannot interpret the response of the API server. It must not reach the client unfiltered. */
export const badGateway = (message: string, cause?: unknown): ApiError =>
  new ApiError(502, 'BadGateway', message, undefined, cause);

/** 429: the memory for responses that this client has requested and not read is used up, see AnswerShares. */
export const tooMuchUnread = (): ApiError =>
  new ApiError(
    429,
    'TooManyRequests',
    'this client has requested more than it has read: read the responses on your other connections, or request lists in pages with limit',
    { retryAfterSeconds: UNREAD_RETRY_SECONDS },
  );

/** Converts an error to the ApiError that describes it. Unexpected errors are returned unchanged. */
export function refusalOf(error: unknown): unknown {
  if (error instanceof ApiStatusError) {
    const { code, reason, message, details } = error;
    return new ApiError(code, reason, message, details, error);
  }
  if (error instanceof UpstreamUnavailable) {
    const outcome = error.sent ? ' The request may have taken effect: check before you retry.' : '';
    return unavailable(`the API server is unreachable: ${error.message}.${outcome}`, error);
  }
  if (error instanceof NothingStoredError || error instanceof ViewTooLargeError) {
    return unavailable(error.message, error);
  }
  if (error instanceof TooManyWatchesError)
    return new ApiError(
      429,
      'TooManyRequests',
      error.message,
      { retryAfterSeconds: RETRY_AFTER_SECONDS },
      error,
    );
  if (error instanceof IdentityDroppedError) return new ApiError(401, 'Unauthorized', 'Unauthorized');
  return error;
}
