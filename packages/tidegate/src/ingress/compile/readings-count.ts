/** Counts the ways in which servers may read the paths of a guarded host. Pure. */
import { readingsOfPath } from '../match/index.ts';

/** Room for 5000 paths with percent-encoding. */
const MOST_READINGS = 10_000;
const MOST_CHARACTERS = 1_000_000;

export const READINGS_LIMIT = `${MOST_READINGS} ways in which servers may read its paths, with ${MOST_CHARACTERS} characters altogether`;

/**
 * Counts the readings of one Ingress, or of one host and namespace. Routers keep each of them in memory, and compute them
 * again after each change of the host, while requests of other tenants wait.
 */
export class ReadingsCount {
  readonly #known = new Map<string, boolean>();
  #readings = 0;
  #characters = 0;

  /** Whether the path is within the limits. A path that is not counts nothing. */
  admits(path: string): boolean {
    const known = this.#known.get(path) ?? this.#add(path);
    this.#known.set(path, known);
    return known;
  }

  #add(path: string): boolean {
    if (this.#readings >= MOST_READINGS) return false;
    const readings = readingsOfPath(path) ?? [path];
    const characters = readings.reduce((sum, { length }) => sum + length, 0);
    if (this.#readings + readings.length > MOST_READINGS) return false;
    if (this.#characters + characters > MOST_CHARACTERS) return false;
    this.#readings += readings.length;
    this.#characters += characters;
    return true;
  }
}
