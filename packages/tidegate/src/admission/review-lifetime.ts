import type { ServerResponse } from 'node:http';

/** The evaluation of a review has taken so long that the API server is about to give up. */
export class ReviewTimeoutError extends Error {
  override readonly name = 'ReviewTimeoutError';
}

/** The API server has closed the connection, so no client waits for the result. */
export class ClientGoneError extends Error {
  override readonly name = 'ClientGoneError';
}

export interface Lifetime {
  /** Aborted with one of the errors above. */
  readonly signal: AbortSignal;
  /** To be called when the review is answered. */
  end(): void;
}

/**
 * Limits how long a review is evaluated. Without it, a tenant could send expensive objects, not wait for the responses, and
 * send more of them.
 */
export function lifetimeOf(response: ServerResponse, mostMs: number): Lifetime {
  const controller = new AbortController();
  const late = new ReviewTimeoutError(`the evaluation of the object took longer than ${mostMs} ms`);
  const timer = setTimeout(() => controller.abort(late), mostMs);
  const gone = (): void => controller.abort(new ClientGoneError('the client has closed the connection'));
  response.once('close', gone);
  return {
    signal: controller.signal,
    end: () => {
      clearTimeout(timer);
      response.off('close', gone);
    },
  };
}
