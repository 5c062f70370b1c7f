/** An error that is sent to the client with this status code. */
export class RequestError extends Error {
  override readonly name = 'RequestError';
  readonly code: number;

  constructor(code: number, message: string) {
    super(message);
    this.code = code;
  }
}
