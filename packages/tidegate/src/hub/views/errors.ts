/** The link is away, and nothing was stored while it was there. */
export class NothingStoredError extends Error {
  constructor(what: string) {
    super(`${what}: the API server can not be reached, and nothing of it was stored before`);
    this.name = 'NothingStoredError';
  }
}

/** More than the hub keeps: clients that want it must get it from the API server. */
export class ViewTooLargeError extends Error {
  constructor(what: string, limit: number) {
    super(`${what}: more than the ${limit} bytes that the hub keeps of one view`);
    this.name = 'ViewTooLargeError';
  }
}

/** What was kept for an identity was dropped. */
export class IdentityDroppedError extends Error {
  constructor(what: string) {
    super(`${what}: the identity it was read with is no longer trusted`);
    this.name = 'IdentityDroppedError';
  }
}
