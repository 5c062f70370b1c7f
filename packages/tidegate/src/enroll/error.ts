/** The hub cannot be installed on this node, or not be removed from it. The message says what to do. */
export class EnrollError extends Error {
  override readonly name = 'EnrollError';
}
