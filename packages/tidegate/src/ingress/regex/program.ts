import type { Assertion, Node } from './syntax.ts';
import { PatternError } from './syntax-error.ts';

/** A compiled regular expression. Plain data: it is part of the route model. */
export interface Pattern {
  /** Three numbers per instruction: one of OP, and two arguments. Instructions are addressed by their index. */
  readonly code: readonly number[];
  /** Sets of bytes, as first and last byte of each range. */
  readonly sets: readonly (readonly number[])[];
  /** How many groups are noted. Group n has the slots 2n - 2 and 2n - 1. */
  readonly groups: number;
  /** A match can only begin at the start. */
  readonly anchored: boolean;
  /** If it is anchored: how each match begins, in lower case and ASCII. Most paths can be excluded by this alone. */
  readonly prefix: string;
}

/** Instructions. `pattern.lua` has the same numbers. */
export const OP = {
  match: 0,
  /** One byte of the set with this index. */
  set: 1,
  jump: 2,
  /** Continues at both addresses. The first one is preferred. */
  split: 3,
  /** Notes the position in a slot. */
  save: 4,
  start: 5,
  end: 6,
  boundary: 7,
  noBoundary: 8,
} as const;

/** The time for a request grows with this number. Repetitions are written out: `a{50}` has 50 instructions. */
export const MAX_INSTRUCTIONS = 400;

const PARTS_PER_INSTRUCTION = 10;

/** `saved`: the numbers of the groups to note. Other groups cost nothing. */
export function assemble(node: Node, saved: ReadonlySet<number>): Pattern {
  const assembler = new Assembler(saved);
  assembler.add(node);
  assembler.emit(OP.match);
  const anchored = startsAnchored(node);
  const groups = Math.max(0, ...saved);
  return {
    code: assembler.code,
    sets: assembler.sets,
    groups,
    anchored,
    prefix: anchored ? literalStart(node).text : '',
  };
}

class Assembler {
  readonly code: number[] = [];
  readonly sets: (readonly number[])[] = [];
  readonly #saved: ReadonlySet<number>;
  readonly #numbers = new Map<string, number>();
  /** The same numbers, for sets that were seen before. */
  readonly #seen = new Map<readonly number[], number>();
  /** Also counts parts without an instruction: repetitions of them would take as long as those of others. */
  #parts = 0;

  constructor(saved: ReadonlySet<number>) {
    this.#saved = saved;
  }

  get #next(): number {
    return this.code.length / 3;
  }

  /** Returns the address. */
  emit(op: number, a = 0, b = 0): number {
    this.#limit(this.#next);
    this.code.push(op, a, b);
    return this.#next - 1;
  }

  #limit(count: number): void {
    if (count >= MAX_INSTRUCTIONS)
      throw new PatternError(`more than ${MAX_INSTRUCTIONS} steps, because of its length or its repetitions`);
  }

  add(node: Node): void {
    this.#limit(this.#parts++ / PARTS_PER_INSTRUCTION);
    switch (node.kind) {
      case 'set':
        this.emit(OP.set, this.#number(node.set));
        break;
      case 'assertion':
        this.emit(OP[node.what satisfies Assertion]);
        break;
      case 'sequence':
        for (const part of node.parts) this.add(part);
        break;
      case 'choice':
        this.#addChoice(node.parts);
        break;
      case 'group':
        this.#addGroup(node.number, node.of);
        break;
      case 'repeat':
        this.#addRepeat(node);
        break;
    }
  }

  #number(set: readonly number[]): number {
    const seen = this.#seen.get(set);
    if (seen !== undefined) return seen;
    const key = set.join();
    const known = this.#numbers.get(key) ?? this.sets.push(set) - 1;
    this.#numbers.set(key, known);
    this.#seen.set(set, known);
    return known;
  }

  #addChoice(parts: readonly Node[]): void {
    const jumps: number[] = [];
    parts.forEach((part, at) => {
      const isLast = at === parts.length - 1;
      const split = isLast ? undefined : this.emit(OP.split);
      if (split !== undefined) this.#set(split, 1, split + 1);
      this.add(part);
      if (!isLast) jumps.push(this.emit(OP.jump));
      if (split !== undefined) this.#set(split, 2, this.#next);
    });
    for (const jump of jumps) this.#set(jump, 1, this.#next);
  }

  #addGroup(number: number, of: Node): void {
    const isSaved = this.#saved.has(number);
    if (isSaved) this.emit(OP.save, 2 * number - 2);
    this.add(of);
    if (isSaved) this.emit(OP.save, 2 * number - 1);
  }

  #addRepeat({ of, min, max, lazy }: Extract<Node, { kind: 'repeat' }>): void {
    for (let n = 0; n < min; n++) this.add(of);
    if (max === undefined) {
      const split = this.emit(OP.split);
      this.add(of);
      this.emit(OP.jump, split);
      this.#branch(split, split + 1, this.#next, lazy);
      return;
    }
    const splits: number[] = [];
    for (let n = min; n < max; n++) {
      splits.push(this.emit(OP.split));
      this.add(of);
    }
    for (const split of splits) this.#branch(split, split + 1, this.#next, lazy);
  }

  #branch(split: number, into: number, past: number, lazy: boolean): void {
    this.#set(split, 1, lazy ? past : into);
    this.#set(split, 2, lazy ? into : past);
  }

  #set(address: number, argument: 1 | 2, value: number): void {
    this.code[address * 3 + argument] = value;
  }
}

/** Whether each match begins at the start of the text. */
function startsAnchored(node: Node): boolean {
  switch (node.kind) {
    case 'assertion':
      return node.what === 'start';
    case 'sequence':
      return node.parts.some((part, at) => startsAnchored(part) && node.parts.slice(0, at).every(isEmpty));
    case 'choice':
      return node.parts.every(startsAnchored);
    case 'group':
      return startsAnchored(node.of);
    default:
      return false;
  }
}

const isEmpty = (node: Node): boolean => node.kind === 'sequence' && node.parts.every(isEmpty);

/** The text that each match begins with; `whole`: the node matches nothing but that. */
function literalStart(node: Node): { text: string; whole: boolean } {
  if (node.kind === 'assertion' && node.what === 'start') return { text: '', whole: true };
  if (node.kind === 'set') return literalOf(node.set);
  if (node.kind === 'group') return literalStart(node.of);
  if (node.kind !== 'sequence') return { text: '', whole: false };
  let text = '';
  for (const part of node.parts) {
    const start = literalStart(part);
    text += start.text;
    if (!start.whole) return { text, whole: false };
  }
  return { text, whole: true };
}

/**
 * A set of one ASCII character, or of both cases of a letter. The prefix is text, and its case is ignored: both would mean
 * something else for bytes above 127.
 */
function literalOf(set: readonly number[]): { text: string; whole: boolean } {
  const [a, b, c, d] = set;
  const isOne = set.length === 2 && a === b && a! < 128;
  const isLetter = set.length === 4 && a === b && c === d && c! - a! === 32 && c! < 128;
  if (!isOne && !isLetter) return { text: '', whole: false };
  return { text: String.fromCharCode(isLetter ? c! : a!).toLowerCase(), whole: true };
}
