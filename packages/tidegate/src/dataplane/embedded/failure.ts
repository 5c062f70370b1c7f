/** An endpoint gave no answer, or not a whole one. */
export class UpstreamFailure extends Error {
  override readonly name = 'UpstreamFailure';
  readonly kind: 'connect' | 'timeout' | 'broken';
  /** It may have seen the request. */
  readonly sent: boolean;

  constructor(kind: UpstreamFailure['kind'], sent: boolean, cause: unknown) {
    super(cause instanceof Error ? cause.message : String(cause), { cause });
    this.kind = kind;
    this.sent = sent;
  }
}

/** Sent twice, they do what they do once. RFC 9110, 9.2.2. */
const IDEMPOTENT = new Set(['GET', 'HEAD', 'OPTIONS', 'PUT', 'DELETE', 'TRACE']);

/** Nothing was said to the client yet. May somebody else be asked? */
export const mayBeSentAgain = (method: string, failure: UpstreamFailure, bodyBegun: boolean): boolean =>
  !bodyBegun && (!failure.sent || IDEMPOTENT.has(method));
