import { OP, type Pattern } from './program.ts';
import { OutOfSteps, type Steps } from './steps.ts';

/** Slots with the start and the end of each noted group; -1 if it is not part of the match. */
export type Slots = readonly number[];

/** The states that the program is in at one position. The first one is preferred. */
class Threads {
  readonly addresses: number[] = [];
  readonly slots: Slots[] = [];
  /** The number of the step at which an address was added last. */
  readonly #added: Int32Array;

  constructor(size: number) {
    this.#added = new Int32Array(size).fill(-1);
  }

  clear(): void {
    this.addresses.length = 0;
    this.slots.length = 0;
  }

  isNew(address: number, step: number): boolean {
    if (this.#added[address] === step) return false;
    this.#added[address] = step;
    return true;
  }
}

/** What stays the same while a pattern runs. */
interface Run {
  readonly code: Pattern['code'];
  readonly text: string;
  readonly steps: Steps;
}

const members = new WeakMap<Pattern, readonly Uint8Array[]>();

/** For each set, whether it has a byte. */
function setsOf(pattern: Pattern): readonly Uint8Array[] {
  let known = members.get(pattern);
  if (known === undefined) {
    known = pattern.sets.map((ranges) => {
      const table = new Uint8Array(256);
      for (let at = 0; at + 1 < ranges.length; at += 2) table.fill(1, ranges[at], ranges[at + 1]! + 1);
      return table;
    });
    members.set(pattern, known);
  }
  return known;
}

/**
 * Runs a pattern on a text of bytes (characters up to 255). Returns the slots of the match that PCRE would find first, or
 * undefined. Each instruction that is reached at a position is one step, and so is each slot that is copied; OutOfSteps is thrown
 * when none are left. `pattern.lua`
 * is the same algorithm.
 */
export function runPattern(
  pattern: Pattern,
  text: string,
  steps: Steps = { left: Number.POSITIVE_INFINITY },
): Slots | undefined {
  const { code, anchored, prefix, groups } = pattern;
  if (prefix !== '' && text.slice(0, prefix.length).toLowerCase() !== prefix) return undefined;
  const sets = setsOf(pattern);
  const size = code.length / 3;
  // The preparation is not free either.
  steps.left -= size;
  const run: Run = { code, text, steps };
  let now = new Threads(size);
  let next = new Threads(size);
  const none: Slots = new Array<number>(groups * 2).fill(-1);
  let found: Slots | undefined;
  for (let at = 0; ; at++) {
    // A match that begins later is less preferred than all that have begun.
    if (found === undefined && (at === 0 || !anchored)) follow(run, now, 0, at, none);
    if (now.addresses.length === 0 && (anchored || found !== undefined)) return found;
    if (steps.left < 0) throw new OutOfSteps();
    const byte = text.charCodeAt(at);
    for (let index = 0; index < now.addresses.length; index++) {
      const address = now.addresses[index]!;
      const slots = now.slots[index]!;
      if (code[address * 3] === OP.match) {
        found = slots;
        // All others are less preferred.
        break;
      }
      if (at < text.length && sets[code[address * 3 + 1]!]![byte] === 1)
        follow(run, next, address + 1, at + 1, slots);
    }
    if (at >= text.length) return found;
    [now, next] = [next, now];
    next.clear();
  }
}

/** Adds what the program reaches from an address without reading a byte. */
function follow(run: Run, threads: Threads, address: number, at: number, slots: Slots): void {
  if (!threads.isNew(address, at)) return;
  const { code, text, steps } = run;
  steps.left--;
  const op = code[address * 3];
  const first = code[address * 3 + 1]!;
  if (op === OP.set || op === OP.match) {
    threads.addresses.push(address);
    threads.slots.push(slots);
  } else if (op === OP.jump) follow(run, threads, first, at, slots);
  else if (op === OP.split) {
    follow(run, threads, first, at, slots);
    follow(run, threads, code[address * 3 + 2]!, at, slots);
  } else if (op === OP.save) {
    // All slots are copied.
    steps.left -= slots.length;
    follow(run, threads, address + 1, at, slots.with(first, at));
  } else if (holds(op, text, at)) follow(run, threads, address + 1, at, slots);
}

/** Whether an assertion holds at this position. */
function holds(op: number | undefined, text: string, at: number): boolean {
  if (op === OP.start) return at === 0;
  if (op === OP.end) return at === text.length;
  return isBoundary(text, at) === (op === OP.boundary);
}

const WORD = /^\w$/;
const isBoundary = (text: string, at: number): boolean =>
  WORD.test(text.charAt(at - 1)) !== WORD.test(text.charAt(at));

/** The text of a group; empty if the group is not part of the match. */
export function groupOf(slots: Slots, number: number, text: string): string {
  const [from = -1, to = -1] = slots.slice(2 * number - 2, 2 * number);
  return from < 0 || to < 0 ? '' : text.slice(from, to);
}
