/** An endpoint did not answer, or not completely. */
export class UpstreamFailure extends Error {
  override readonly name = 'UpstreamFailure';
  readonly kind: 'connect' | 'timeout' | 'broken';
  /** The endpoint has answered with this status, and another endpoint gets the request. */
  readonly status: number | undefined;
  /** Whether the endpoint may have received the request. */
  readonly sent: boolean;

  constructor(kind: UpstreamFailure['kind'], sent: boolean, cause: unknown, status?: number) {
    super(cause instanceof Error ? cause.message : String(cause), { cause });
    this.kind = kind;
    this.sent = sent;
    this.status = status;
  }
}

/** Idempotent methods (RFC 9110, section 9.2.2): sending them twice has the same effect as sending them once. */
export const IDEMPOTENT = new Set(['GET', 'HEAD', 'OPTIONS', 'PUT', 'DELETE', 'TRACE']);

/** Whether the request may be sent to another endpoint, given that the client has received nothing yet. */
export const mayBeSentAgain = (
  method: string,
  { sent }: Pick<UpstreamFailure, 'sent'>,
  { isBodyGone, anyMethod }: { isBodyGone: boolean; anyMethod: boolean },
): boolean => !isBodyGone && (!sent || anyMethod || IDEMPOTENT.has(method));
