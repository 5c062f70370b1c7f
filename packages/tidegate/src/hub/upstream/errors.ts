/** No API server gave an answer. The link is away, as far as this request can tell. */
export class UpstreamUnavailable extends Error {
  readonly code = 'UPSTREAM_UNAVAILABLE';
  /** The request went out before the connection broke: it may have been carried out. */
  readonly sent: boolean;

  constructor(message: string, options: { sent: boolean; cause?: unknown }) {
    super(message, { cause: options.cause });
    this.name = 'UpstreamUnavailable';
    this.sent = options.sent;
  }
}

/** What an error says, also where it only stands for several others. */
export function describeError(error: unknown): string {
  if (error instanceof AggregateError) return error.errors.map(describeError).join('; ');
  return error instanceof Error ? error.message : String(error);
}
