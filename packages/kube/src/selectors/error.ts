/** The text or object is not a selector. The message is the one that an API server would answer. */
export class SelectorError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'SelectorError';
  }
}
