/** Counts the regular expressions of an Ingress or a host. Pure. */
import type { Route } from '../model.ts';

/** Different expressions of an Ingress, and of a host. A router tries those of a host one after the other. */
export const MOST_EXPRESSIONS = 100;
/** The instructions of all of them; see `program.ts`. */
const MOST_INSTRUCTIONS = 8_000;

/** The characters of different paths without special characters. Each is compiled into an instruction too. */
const MOST_CHARACTERS = 300_000;

export const REGEX_LIMIT = `${MOST_EXPRESSIONS} different regular expressions with ${MOST_INSTRUCTIONS} steps altogether, and ${MOST_CHARACTERS} characters in paths without special characters`;

type Compiled = readonly Pick<Route, 'pattern'>[];

/** Counts the different expressions of one Ingress or one host. */
export class RegexCount {
  readonly #known = new Map<string, boolean>();
  #expressions = 0;
  #characters = 0;
  #instructions = 0;

  /** Whether the expression is within the limits. `compile` is called for few expressions beyond them only. */
  admits(path: string, compile: () => Compiled): boolean {
    const known = this.#known.get(path) ?? (isPlain(path) ? this.#addPlain(path) : this.#add(compile));
    this.#known.set(path, known);
    return known;
  }

  /** Such a path is compared byte by byte, like one that is not an expression. */
  #addPlain(path: string): boolean {
    if (this.#characters + path.length > MOST_CHARACTERS) return false;
    this.#characters += path.length;
    return true;
  }

  #add(compile: () => Compiled): boolean {
    if (this.#expressions >= MOST_EXPRESSIONS || this.#instructions >= MOST_INSTRUCTIONS) return false;
    const size = compile().reduce((sum, { pattern }) => sum + (pattern?.code.length ?? 0) / 3, 0);
    this.#expressions++;
    this.#instructions += size;
    return this.#instructions <= MOST_INSTRUCTIONS;
  }
}

const isPlain = (path: string): boolean => !/[*+?{}()|[\]\\^$]/.test(path);
