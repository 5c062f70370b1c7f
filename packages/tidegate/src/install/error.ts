/** An installation cannot go on, and the user can do something about it. The message says what. */
export class InstallError extends Error {
  override readonly name = 'InstallError';
}
