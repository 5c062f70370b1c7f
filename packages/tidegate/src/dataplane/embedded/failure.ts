/** An endpoint did not answer, or not completely. */
export class UpstreamFailure extends Error {
  override readonly name = 'UpstreamFailure';
  readonly kind: 'connect' | 'timeout' | 'broken';
  /** Whether the endpoint may have received the request. */
  readonly sent: boolean;

  constructor(kind: UpstreamFailure['kind'], sent: boolean, cause: unknown) {
    super(cause instanceof Error ? cause.message : String(cause), { cause });
    this.kind = kind;
    this.sent = sent;
  }
}

/** Idempotent methods (RFC 9110, section 9.2.2): sending them twice has the same effect as sending them once. */
const IDEMPOTENT = new Set(['GET', 'HEAD', 'OPTIONS', 'PUT', 'DELETE', 'TRACE']);

/** Whether the request may be sent to another endpoint, given that the client has received nothing yet. */
export const mayBeSentAgain = (method: string, failure: UpstreamFailure, bodyBegun: boolean): boolean =>
  !bodyBegun && (!failure.sent || IDEMPOTENT.has(method));
