/** No API server is reachable, and the hub has stored nothing of the view before. */
export class NothingStoredError extends Error {
  constructor(what: string) {
    super(`${what}: the API server is unreachable, and the hub has stored nothing of them`);
    this.name = 'NothingStoredError';
  }
}

/** The objects exceed the size limit of a view. Clients must get them from the API server. */
export class ViewTooLargeError extends Error {
  constructor(what: string, limit: number) {
    super(`${what}: the objects exceed the limit of ${limit} bytes for one view of the hub`);
    this.name = 'ViewTooLargeError';
  }
}

/** The hub has dropped all views of an identity (`Views.dropIdentity`). */
export class IdentityDroppedError extends Error {
  constructor(what: string) {
    super(`${what}: the hub no longer trusts the identity that the objects were read with`);
    this.name = 'IdentityDroppedError';
  }
}
