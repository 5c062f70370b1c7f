/**
 * How many steps the regular expressions of all routes may take for one request. A router serves the requests of all tenants
 * one after the other, and a step takes up to a tenth of a microsecond. An expression such as `/api/(.*)` takes about
 * five steps for each byte of the path. `pattern.lua` has the same number.
 */
export const MAX_STEPS = 300_000;

/** The steps that are left for a request. */
export interface Steps {
  left: number;
}

/** The regular expressions took too many steps. */
export class OutOfSteps extends Error {
  constructor() {
    super(`regular expressions took more than ${MAX_STEPS} steps`);
  }
}
