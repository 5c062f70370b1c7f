import type { Clock } from '../base/clock.ts';

/** The server's data are older than ours: somebody restored a backup. */
export class RolledBackError extends Error {
  constructor(place: string, latest: string) {
    super(`the server is at ${latest}, which is before ${place}: its data were restored from a backup`);
    this.name = 'RolledBackError';
  }
}

/** Bookmarks come about once a minute. */
const SILENCE_MS = 90_000;

/**
 * A server that was restored from a backup accepts a watch from a place in its future, and says nothing until it gets
 * there. When a watch that was resumed stays silent, `check` is called, once. Returns how to call that off.
 */
export const whenSilent = (clock: Clock, check: () => void): (() => void) => clock.after(SILENCE_MS, check);
