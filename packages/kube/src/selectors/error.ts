/** The text or object is not a valid selector. The message is that of an API server. */
export class SelectorError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'SelectorError';
  }
}
