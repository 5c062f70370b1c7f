import { ApiError, type Exchange, internalError } from '@tidegate/serving';

/** Sends an error as a Status. An error that is not an ApiError is a failure of the hub: 500. */
export async function answerStatus(exchange: Exchange, error: unknown): Promise<void> {
  // The response has begun, so its status code cannot change. The client must see that it is incomplete.
  if (exchange.response.headersSent) exchange.response.destroy();
  else await exchange.status((error instanceof ApiError ? error : internalError(error)).status);
}
