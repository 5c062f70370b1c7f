import { randomBytes } from 'node:crypto';

/**
 * A tenant can name the router itself as the server that authenticates clients, or that gets copies of requests. Without a limit,
 * one request of a client would then cause requests without end. So each of them carries a mark of the router that sends it, in
 * the header that RFC 8586 defines for this. Endpoints get it too, and other proxies keep it.
 */
export const LOOP_HEADER = 'cdn-loop';

/** A request can come from the same router this often. A server that authenticates clients may itself be behind the router. */
export const MOST_LOOPS = 3;

/** Clients cannot guess it: otherwise they could keep their requests from being copied. */
export const newMark = (): string => `tidegate-${randomBytes(12).toString('hex')}`;

/** Whether the router has sent the request too often. `before` is the header of the request. `loops.lua` is the same for nginx. */
export const isLoop = (before: string | undefined, mark: string): boolean =>
  (before ?? '').split(mark).length > MOST_LOOPS;

/** The header of a request that the router sends. */
export const marked = (before: string | undefined, mark: string): string =>
  before === undefined ? mark : `${before}, ${mark}`;
