import { ApiError, type Exchange, internalError } from '@tidegate/serving';

/** Sends a Status; what is not an API server's refusal is a failure of the hub. */
export async function answerStatus(exchange: Exchange, error: unknown): Promise<void> {
  // Half an answer can not be taken back: the client has to see that it is broken.
  if (exchange.response.headersSent) exchange.response.destroy();
  else await exchange.status((error instanceof ApiError ? error : internalError(error)).status);
}
