/** No API server is reachable, and the hub has stored nothing of the view before. */
export class NothingStoredError extends Error {
  constructor(what: string) {
    super(`${what}: the API server is unreachable, and the hub has stored nothing of them`);
    this.name = 'NothingStoredError';
  }
}

/** The objects exceed the size limit of a view, or of all views of a client. Clients must get them from the API server. */
export class ViewTooLargeError extends Error {
  constructor(what: string, limit: number | 'share') {
    super(
      limit === 'share'
        ? `${what}: the objects exceed what this client may use of the memory of the hub`
        : `${what}: the objects exceed the limit of ${limit} bytes for one view of the hub`,
    );
    this.name = 'ViewTooLargeError';
  }
}

/** The hub follows as many views for this client, or its tenant, as it may. The client must watch at the API server. */
export class TooManyWatchesError extends Error {
  constructor(what: string) {
    super(
      `${what}: the hub keeps no more watches for this client; close watches, or watch more objects with one request`,
    );
    this.name = 'TooManyWatchesError';
  }
}

/** The hub has dropped all views of an identity (`Views.dropIdentity`). */
export class IdentityDroppedError extends Error {
  constructor(what: string) {
    super(`${what}: the hub no longer trusts the identity that the objects were read with`);
    this.name = 'IdentityDroppedError';
  }
}
