import {
  type ByteSet,
  byteSet,
  CLASSES,
  DOT,
  folded,
  inverse,
  one,
  pairsOf,
  posixClass,
} from './byte-set.ts';
import { PatternError } from './syntax-error.ts';

/** A parsed expression. */
export type Node =
  | { readonly kind: 'set'; readonly set: ByteSet }
  | { readonly kind: 'assertion'; readonly what: Assertion }
  | { readonly kind: 'sequence'; readonly parts: readonly Node[] }
  | { readonly kind: 'choice'; readonly parts: readonly Node[] }
  | { readonly kind: 'group'; readonly number: number; readonly of: Node }
  | {
      readonly kind: 'repeat';
      readonly of: Node;
      readonly min: number;
      /** Undefined: any number of times. */
      readonly max: number | undefined;
      /** As few times as possible come first. */
      readonly lazy: boolean;
    };

export type Assertion = 'start' | 'end' | 'boundary' | 'noBoundary';

const MAX_DEPTH = 30;
const MAX_COUNT = 100;

const ASSERTIONS: Readonly<Record<string, Assertion>> = {
  A: 'start',
  z: 'end',
  Z: 'end',
  b: 'boundary',
  B: 'noBoundary',
};
const CONTROL: Readonly<Record<string, string>> = { t: '\t', n: '\n', r: '\r', f: '\f', v: '\v' };

/** What PCRE has and a linear time does not allow, by its beginning. */
const REFUSED: readonly [RegExp, string][] = [
  [/^\(\?<?=/, 'a look-ahead or look-behind'],
  [/^\(\?<?!/, 'a look-ahead or look-behind'],
  [/^\(\?>/, 'an atomic group'],
  [/^\(\?[|(R0-9&#+]/, 'a conditional, recursive or other special group'],
  [/^\(\*/, 'a verb'],
];

/** Parses an expression of PCRE without what needs more than linear time. Letters match both cases. */
export function parsePattern(
  text: string,
  before: string,
  ignoresCase: boolean,
): { node: Node; groups: number } {
  const parser = new Parser(before + text, before.length, ignoresCase);
  return { node: parser.parse(), groups: parser.groups };
}

/** Most of an expression are characters that stand for themselves, so their sets are computed once. */
const literals = new Map<string, Node>();

function literal(character: string, isFolded: boolean): Node {
  const key = isFolded ? character : `${character}=`;
  const set = character === '.' ? DOT : one(character);
  const known = literals.get(key) ?? { kind: 'set', set: isFolded ? folded(set) : set };
  literals.set(key, known);
  return known;
}

class Parser {
  groups = 0;
  readonly #text: string;
  #at = 0;
  #depth = 0;
  /** How many characters the user has not written. */
  readonly #added: number;
  #ignoresCase: boolean;

  constructor(text: string, added: number, ignoresCase: boolean) {
    this.#text = text;
    this.#added = added;
    this.#ignoresCase = ignoresCase;
  }

  #folded(set: ByteSet): ByteSet {
    return this.#ignoresCase ? folded(set) : set;
  }

  parse(): Node {
    const node = this.#choice();
    if (this.#at < this.#text.length) this.#fail('a ")" without a "("');
    return node;
  }

  #choice(): Node {
    const parts = [this.#sequence()];
    while (this.#take('|')) parts.push(this.#sequence());
    return parts.length === 1 ? parts[0]! : { kind: 'choice', parts };
  }

  #sequence(): Node {
    const parts: Node[] = [];
    while (this.#at < this.#text.length && !this.#sees('|') && !this.#sees(')')) parts.push(this.#repeated());
    return parts.length === 1 ? parts[0]! : { kind: 'sequence', parts };
  }

  #repeated(): Node {
    const of = this.#atom();
    const times = this.#times();
    if (times === undefined) return of;
    if (of.kind === 'assertion') this.#fail('a repetition of an anchor');
    const lazy = this.#take('?');
    if (this.#sees('+')) this.#fail('a possessive repetition, which is not supported');
    if (this.#times() !== undefined) this.#fail('a repetition of a repetition');
    return { kind: 'repeat', of, ...times, lazy };
  }

  #times(): { min: number; max: number | undefined } | undefined {
    if (this.#take('*')) return { min: 0, max: undefined };
    if (this.#take('+')) return { min: 1, max: undefined };
    if (this.#take('?')) return { min: 0, max: 1 };
    if (!this.#sees('{')) return undefined;
    // A brace that is not a repetition is a character.
    const [all, from = '', comma, to] = /^\{(\d+)(,(\d*))?\}/.exec(this.#rest()) ?? [];
    if (all === undefined) return undefined;
    const min = Number(from);
    const max = comma === undefined ? min : to === '' ? undefined : Number(to);
    if (Math.max(min, max ?? 0) > MAX_COUNT) this.#fail(`a repetition of more than ${MAX_COUNT} times`);
    if (max !== undefined && max < min) this.#fail('a repetition whose maximum is below its minimum');
    this.#at += all.length;
    return { min, max };
  }

  #atom(): Node {
    const character = this.#text[this.#at]!;
    if (character === '(') return this.#group();
    if (character === '[') return this.#set(this.#brackets());
    if (character === '\\') return this.#escaped();
    if ('*+?'.includes(character)) this.#fail('a repetition of nothing');
    if (character.charCodeAt(0) > 0x7e || character.charCodeAt(0) < 0x20)
      this.#fail('a character that must be percent-encoded in a path');
    this.#at++;
    if (character === '^') return { kind: 'assertion', what: 'start' };
    if (character === '$') return { kind: 'assertion', what: 'end' };
    return literal(character, this.#ignoresCase);
  }

  #group(): Node {
    const refused = REFUSED.find(([begin]) => begin.test(this.#rest()));
    if (refused !== undefined) this.#fail(`${refused[1]}, which is not supported`);
    const [flags] = /^\(\?i\)/.exec(this.#rest()) ?? [];
    if (flags !== undefined) {
      this.#ignoresCase = true;
      this.#at += flags.length;
      return { kind: 'sequence', parts: [] };
    }
    const [plain] = /^\(\?i?:/.exec(this.#rest()) ?? [];
    if (plain === '(?i:' && !this.#ignoresCase)
      this.#fail('a group that ignores case; write (?i) at the beginning of the expression');
    const [named] = /^\(\?P?(?:<[A-Za-z_]\w{0,31}>|'[A-Za-z_]\w{0,31}')/.exec(this.#rest()) ?? [];
    if (plain === undefined && named === undefined && this.#rest().startsWith('(?'))
      this.#fail('a kind of group that is not supported');
    this.#at += (plain ?? named ?? '(').length;
    const number = plain === undefined ? ++this.groups : 0;
    if (++this.#depth > MAX_DEPTH) this.#fail(`more than ${MAX_DEPTH} groups inside of each other`);
    const of = this.#choice();
    this.#depth--;
    if (!this.#take(')')) this.#fail('a "(" without a ")"');
    return number === 0 ? { kind: 'sequence', parts: [of] } : { kind: 'group', number, of };
  }

  #escaped(): Node {
    const character = this.#text[this.#at + 1];
    const what = character === undefined ? undefined : ASSERTIONS[character];
    if (what === undefined) return this.#set(this.#escape());
    this.#at += 2;
    return { kind: 'assertion', what };
  }

  /** A backslash and what follows it, as a set. */
  #escape(): ByteSet {
    const character = this.#text[this.#at + 1];
    if (character === undefined) this.#fail('a backslash at the end');
    const [hex, short, long] = /^\\x(?:([0-9a-f]{2})|\{([0-9a-f]{1,2})\})/i.exec(this.#rest()) ?? [];
    if (hex !== undefined) {
      this.#at += hex.length;
      return one(String.fromCharCode(Number.parseInt(short ?? long ?? '', 16)));
    }
    if (/[1-9]/.test(character)) this.#fail('a back-reference, which is not supported');
    const control = CONTROL[character];
    const known = CLASSES[character] ?? (control === undefined ? undefined : one(control));
    if (known === undefined && /[A-Za-z0-9]/.test(character))
      this.#fail(`\\${character}, which is not supported`);
    if (character.charCodeAt(0) > 0x7e) this.#fail('a character that must be percent-encoded in a path');
    this.#at += 2;
    return known ?? one(character);
  }

  #brackets(): ByteSet {
    const start = this.#at++;
    const isInverse = this.#take('^');
    const pairs: [number, number][] = [];
    for (let first = true; first || !this.#sees(']'); first = false) {
      if (this.#at >= this.#text.length) {
        this.#at = start;
        this.#fail('a "[" without a "]"');
      }
      pairs.push(...this.#member());
    }
    this.#at++;
    const set = this.#folded(byteSet(pairs));
    return isInverse ? inverse(set) : set;
  }

  /** A character, a range or a class between brackets. */
  #member(): [number, number][] {
    const from = this.#memberSet();
    const isRange = /^-[^\]]/.test(this.#rest());
    if (!isRange || !isOne(from)) return pairsOf(from);
    this.#at++;
    const to = this.#memberSet();
    if (!isOne(to) || to[0]! < from[0]!) this.#fail('a range that is not in order');
    return [[from[0]!, to[0]!]];
  }

  #memberSet(): ByteSet {
    const [all, name = ''] = /^\[:(\^?[a-z]+):\]/.exec(this.#rest()) ?? [];
    if (all !== undefined) {
      this.#at += all.length;
      return posixClass(name);
    }
    const character = this.#text[this.#at]!;
    if (character === '\\')
      return this.#text[this.#at + 1] === 'b' ? this.#fail('\\b between brackets') : this.#escape();
    if (character.charCodeAt(0) > 0x7e) this.#fail('a character that must be percent-encoded in a path');
    this.#at++;
    return one(character);
  }

  #set(set: ByteSet): Node {
    return { kind: 'set', set: this.#folded(set) };
  }

  #rest(): string {
    return this.#text.slice(this.#at);
  }

  #sees(character: string): boolean {
    return this.#text[this.#at] === character;
  }

  #take(character: string): boolean {
    const isThere = this.#sees(character);
    if (isThere) this.#at++;
    return isThere;
  }

  #fail(what: string): never {
    throw new PatternError(`${what} at character ${this.#at + 1 - this.#added}`);
  }
}

const isOne = (set: ByteSet): boolean => set.length === 2 && set[0] === set[1];
