import { ApiStatusError } from '@tidegate/kube';
import { ApiError } from '@tidegate/serving';
import { unavailable } from '../unavailable.ts';
import { UpstreamUnavailable } from '../upstream/index.ts';
import { IdentityDroppedError, NothingStoredError, ViewTooLargeError } from '../views/errors.ts';

/** What came from above can not be understood, and must not be passed on as it is. */
export const badAnswer = (message: string, cause?: unknown): ApiError =>
  new ApiError(502, 'BadGateway', message, undefined, cause);

/** Whatever went wrong, in the words of an API server. */
export function refusalOf(error: unknown): unknown {
  if (error instanceof ApiStatusError) {
    const { code, reason, message, details } = error;
    return new ApiError(code, reason, message, details, error);
  }
  if (error instanceof UpstreamUnavailable) {
    const outcome = error.sent ? ' It may have been carried out: look before you try again.' : '';
    return unavailable(`the API server can not be reached: ${error.message}.${outcome}`, error);
  }
  if (error instanceof NothingStoredError || error instanceof ViewTooLargeError) {
    return unavailable(error.message, error);
  }
  if (error instanceof IdentityDroppedError) return new ApiError(401, 'Unauthorized', 'Unauthorized');
  return error;
}
