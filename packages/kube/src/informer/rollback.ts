import type { Clock } from '../base/clock.ts';

/** The server's data is older than the cache: it was restored from a backup. */
export class RolledBackError extends Error {
  constructor(place: string, latest: string) {
    super(
      `the server is at resource version ${latest}, which is older than ${place}: its data was restored from a backup`,
    );
    this.name = 'RolledBackError';
  }
}

/** API servers send a bookmark about once a minute, so a healthy watch is never silent for this long. */
const SILENCE_MS = 90_000;

/**
 * Calls `check` once if a resumed watch stays silent. A server that was restored from a backup accepts a watch from a
 * resource version in its future, and sends nothing until its own counter gets there; without this check the cache
 * would be wrong for hours. Returns a function that cancels the check.
 */
export const whenSilent = (clock: Clock, check: () => void): (() => void) => clock.after(SILENCE_MS, check);
